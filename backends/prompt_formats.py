"""The prompt formats: the conventions that models were trained on for conversations, reasoning and tools."""

from __future__ import annotations

from dataclasses import dataclass

GENERIC = "generic"
MISTRAL = "mistral_template"
QWEN3 = "qwen3_template"
GEMMA4 = "gemma4_template"
TRANSLATE_GEMMA = "translategemma_template"
"""One user message, in a structured form that names the source and the target language."""

PROMPT_FORMATS = (GENERIC, MISTRAL, QWEN3, GEMMA4, TRANSLATE_GEMMA)


TOOL_MARKERS = (("<|channel>", "gemma4"), ("[TOOL_CALLS]", "mistral"), ("<tool_call>", "hermes"))
REASONING_MARKERS = (("<|channel>", "gemma4"), ("[THINK]", "mistral"), ("<think>", "think"))
"""Texts in a chat template, of which the first one decides, and the names of the notations that they show."""


@dataclass(frozen=True, slots=True)
class DetectedSyntax:
    """What a chat template shows: its prompt format, and the notations of tool calls and reasoning.

    A notation is None where there is none. The reasons complete the sentence "the chat template ...".
    """

    prompt_format: str
    reason: str
    tools: str | None
    tool_reason: str
    reasoning: str | None
    reasoning_reason: str


def detect_syntax(template: str) -> DetectedSyntax:
    """The syntax of a chat template; engines guess it by the same markers.

    They do so in backends/shared/engine/syntax.py.
    """
    tools, tool_reason = _first(template, TOOL_MARKERS, "has no tool calls")
    reasoning, reasoning_reason = _first(template, REASONING_MARKERS, "has no reasoning")
    if "source_lang_code" in template and "target_lang_code" in template:
        format, reason = TRANSLATE_GEMMA, "takes languages (source_lang_code)"
    elif "<|channel>" in template:
        format, reason = GEMMA4, "has Gemma 4's channels (<|channel>)"
    elif "[TOOL_CALLS]" in template:
        format, reason = MISTRAL, "has Mistral's tool calls ([TOOL_CALLS])"
    elif all(marker in template for marker in ("<think>", "<tool_call>", "enable_thinking")):
        format, reason = QWEN3, "has Qwen 3's reasoning, which requests may turn off (enable_thinking)"
    else:
        format, reason = GENERIC, "has no known markers"
    return DetectedSyntax(format, reason, tools, tool_reason, reasoning, reasoning_reason)


def _first(template: str, markers: tuple[tuple[str, str], ...], otherwise: str) -> tuple[str | None, str]:
    for marker, name in markers:
        if marker in template:
            return name, f"has {marker}"
    return None, otherwise
