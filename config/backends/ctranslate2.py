"""CTranslate2 (`ct2`): converted generators and translators. Nothing of it changes from load to load."""

from __future__ import annotations

from config.option import Backend, Option
from config.prompts import QWEN3

CT2 = Backend(
    "ct2",
    "ct2_",
    thinking_formats=(QWEN3,),
    options=(
        Option("ct2_task", "enum", "generate", "what the model does", choices=("generate", "translate")),
        Option("ct2_compute_type", "string", "default", "type of the computation, such as int8_float16"),
    ),
)
