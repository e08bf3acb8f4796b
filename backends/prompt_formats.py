"""The prompt formats: the conventions that models were trained on for conversations, reasoning and tools."""

from __future__ import annotations

GENERIC = "generic"
MISTRAL = "mistral_template"
QWEN3 = "qwen3_template"
GEMMA4 = "gemma4_template"
TRANSLATE_GEMMA = "translategemma_template"
"""One user message, in a structured form that names the source and the target language."""

PROMPT_FORMATS = (GENERIC, MISTRAL, QWEN3, GEMMA4, TRANSLATE_GEMMA)
