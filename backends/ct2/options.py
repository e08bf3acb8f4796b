"""The options of `ct2` (CTranslate2): converted generators and translators."""

from __future__ import annotations

from backends.declaration import Backend, Option
from backends.prompt_formats import QWEN3


def _language(name: str, what: str) -> Option:
    about = f"translators: the language {what} of requests that name none"
    return Option(name, "string", None, about, nullable=True)


BACKEND = Backend(
    "ct2",
    "ct2_",
    single_turn_when={"ct2_task": "translate"},
    thinking_formats=(QWEN3,),
    options=(
        Option("ct2_task", "enum", "generate", "what the model does", choices=("generate", "translate")),
        Option("ct2_compute_type", "string", "default", "type of the computation, such as int8_float16"),
        Option(
            "ct2_python",
            "string",
            None,
            "the Python that has ctranslate2; null is that of its environment",
            nullable=True,
            format="program",
        ),
        Option(
            "ct2_n_ctx",
            "integer",
            None,
            "most tokens of one request; null: what the tokenizer says, for translators any number",
            nullable=True,
            minimum=2,
            maximum=100_000_000,
        ),
        Option(
            "ct2_threads",
            "integer",
            None,
            "CPU threads of one batch; null leaves the choice to the library",
            nullable=True,
            minimum=1,
            maximum=1024,
        ),
        Option(
            "ct2_beam_size",
            "integer",
            1,
            "translators: beams of the search; with more than one a sentence comes when it is whole",
            minimum=1,
            maximum=32,
        ),
        _language("ct2_source_lang_code", "of the text"),
        _language("ct2_target_lang_code", "to translate into"),
    ),
)
