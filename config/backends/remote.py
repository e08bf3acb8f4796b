"""A server elsewhere that speaks OpenAI's protocol (`openai_remote`). Loads change nothing of it."""

from __future__ import annotations

from config.option import Backend, Option
from config.prompts import PROMPT_FORMATS

OPENAI_REMOTE = Backend(
    "openai_remote",
    "openai_remote_",
    needs_model_path=False,
    thinking_formats=PROMPT_FORMATS,
    options=(
        Option("openai_remote_url", "string", None, "its address, up to and with /v1", nullable=True),
        Option("openai_remote_model", "string", None, "the model's name there", nullable=True),
        Option(
            "openai_remote_key_variable",
            "string",
            None,
            "the environment variable that holds the key",
            nullable=True,
        ),
        Option("openai_remote_thinking", "boolean", False, "requests may say whether to think"),
        Option("openai_remote_image_input", "boolean", False, "the model takes images"),
    ),
)
