"""The prompt formats: how a model wants to be addressed."""

from __future__ import annotations

GENERIC = "generic"
MISTRAL = "mistral_template"
QWEN3 = "qwen3_template"
GEMMA4 = "gemma4_template"
TRANSLATE_GEMMA = "translategemma_template"
"""One user message, in a structured form that names both languages."""

PROMPT_FORMATS = (GENERIC, MISTRAL, QWEN3, GEMMA4, TRANSLATE_GEMMA)
