"""A server elsewhere that speaks OpenAI's protocol (`openai_remote`). Loads change nothing of it."""

from __future__ import annotations

from backends.declaration import HEADER, URL, VARIABLE_NAME, Backend, Option
from backends.prompt_formats import PROMPT_FORMATS

BACKEND = Backend(
    "openai_remote",
    "openai_remote_",
    needs_model_path=False,
    required=("openai_remote_url",),
    remote=True,
    image_option="openai_remote_image_input",
    thinking_formats=PROMPT_FORMATS,
    thinking_option="openai_remote_thinking",
    options=(
        Option(
            "openai_remote_url",
            "string",
            None,
            "its address, up to and with /v1",
            nullable=True,
            format=URL,
        ),
        Option(
            "openai_remote_model",
            "string",
            None,
            "the model's name there; null is its name here",
            nullable=True,
        ),
        Option(
            "openai_remote_unlisted",
            "boolean",
            False,
            "the server takes names that its list of models lacks (variants, deployments)",
        ),
        Option(
            "openai_remote_key_variable",
            "string",
            None,
            "the worker's environment variable that holds the key; null sends none",
            nullable=True,
            format=VARIABLE_NAME,
        ),
        Option(
            "openai_remote_headers",
            "object",
            None,
            "further headers of each request, by name",
            nullable=True,
            format=HEADER,
            secret=True,
        ),
        Option(
            "openai_remote_api",
            "enum",
            "chat_completions",
            "which of OpenAI's two APIs it is asked through",
            choices=("chat_completions", "responses"),
        ),
        Option(
            "openai_remote_max_tokens_field",
            "enum",
            "max_tokens",
            "what a chat completion calls the most tokens allowed; OpenAI's newer models take the second",
            choices=("max_tokens", "max_completion_tokens"),
        ),
        Option("openai_remote_thinking", "boolean", False, "requests may say whether to think"),
        Option("openai_remote_image_input", "boolean", False, "the model takes images"),
        Option(
            "openai_remote_connect_timeout_s",
            "float",
            10.0,
            "how long a connection may take to come about",
            minimum=0.1,
            maximum=600.0,
        ),
        Option(
            "openai_remote_read_timeout_s",
            "float",
            120.0,
            "how long the server may be silent; a request fails then, or before: limits.first_event_timeout_s"
            " and limits.idle_timeout_s are for all backends",
            minimum=0.1,
            maximum=86_400.0,
        ),
        Option(
            "openai_remote_retries",
            "integer",
            2,
            "how often a request is repeated that the server did not begin to answer",
            minimum=0,
            maximum=10,
        ),
    ),
)
