"""The syntax that a chat template shows before a load is the one that engines use after it."""

from __future__ import annotations

import pytest

from backends.prompt_formats import PROMPT_FORMATS, detect_syntax
from backends.shared.engine.syntax import syntax_of

TEMPLATES = {
    "": ("generic", None, None),
    "{{ messages }}": ("generic", None, None),
    "<tool_call>": ("generic", "hermes", None),
    "<think>{{ x }}</think>": ("generic", None, "think"),
    "<think></think><tool_call>enable_thinking": ("qwen3_template", "hermes", "think"),
    "[TOOL_CALLS]": ("mistral_template", "mistral", None),
    "[TOOL_CALLS][THINK]": ("mistral_template", "mistral", "mistral"),
    "<|channel>thought": ("gemma4_template", "gemma4", "gemma4"),
    "source_lang_code target_lang_code": ("translategemma_template", None, None),
}


@pytest.mark.parametrize("template", TEMPLATES)
def test_a_template_shows_its_format_and_notations(template: str) -> None:
    found = detect_syntax(template)
    assert (found.prompt_format, found.tools, found.reasoning) == TEMPLATES[template]
    assert found.prompt_format in PROMPT_FORMATS
    engine = syntax_of("generic", template)
    assert (found.tools is None) == (engine.call_start is None)
    assert syntax_of(found.prompt_format, template).call_start == engine.call_start
    if found.reasoning is not None:
        assert syntax_of(found.prompt_format, template).reasoning_start == engine.reasoning_start is not None
