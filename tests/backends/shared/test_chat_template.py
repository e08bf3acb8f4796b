"""The rendering of chat templates."""

from __future__ import annotations

import pytest

from backends.shared.engine.chat_template import ChatTemplate, PromptError
from backends.shared.engine.template_refusal import UNREADABLE


def rendered(source: str, **body: object) -> str:
    return ChatTemplate(source, {}).render({"messages": [{"role": "user", "content": "Hello."}], **body})


def test_the_content_of_a_generation_tag_is_rendered() -> None:
    """Templates that were used in training have the tag, which is an error in plain Jinja."""
    source = (
        "{% set name = 'me' %}{%- generation -%} {{ messages[0].content }} {{ name }} {%- endgeneration -%} ."
    )
    assert rendered(source) == "Hello. me."


def test_a_variable_set_in_a_generation_tag_ends_with_it() -> None:
    assert rendered("{% generation %}{% set a = 1 %}{{ a }}{% endgeneration %}{{ a is defined }}") == "1False"


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("", '{"b": [1, "ü"], "a": 2}'),
        ("(separators=(',', ':'))", '{"b":[1,"ü"],"a":2}'),
        ("(sort_keys=true)", '{"a": 2, "b": [1, "ü"]}'),
        ("(ensure_ascii=True)", '{"b": [1, "\\u00fc"], "a": 2}'),
        ("(indent=1)", '{\n "b": [\n  1,\n  "ü"\n ],\n "a": 2\n}'),
    ],
)
def test_tojson_supports_the_arguments_that_templates_use(arguments: str, expected: str) -> None:
    """A model was trained on one form of tools (Kimi's on the compact one), and calls worse with another."""
    assert rendered("{{ tools | tojson" + arguments + " }}", tools={"b": [1, "ü"], "a": 2}) == expected


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        (
            "{{ raise_exception('Roles must\\n alternate') }}",
            "the model's chat template rejects these messages: Roles must alternate",
        ),
        ("{{ raise_exception('') }}", UNREADABLE),
        ("{{ messages[0].parts.text.strip() }}", UNREADABLE),
        ("{{ 1 + 'a' }}", UNREADABLE),
    ],
)
def test_a_template_that_throws_is_reported_with_its_own_reason(source: str, sentence: str) -> None:
    """The text of `raise_exception` is for readers; the errors of Jinja and Python belong in the log."""
    with pytest.raises(PromptError) as caught:
        rendered(source)
    assert str(caught.value) == sentence
    assert caught.value.__cause__ is not None


def test_a_language_that_a_template_does_not_know_is_named_with_its_field() -> None:
    source = "{{ raise_exception('Unknown language: ' ~ messages[0].content[0].target_lang_code) }}"
    part = {"type": "text", "source_lang_code": "de", "target_lang_code": "xx", "text": "Hallo"}
    with pytest.raises(PromptError) as caught:
        rendered(source, messages=[{"role": "user", "content": [part]}])
    assert str(caught.value) == "the model's chat template rejects target_lang_code xx: Unknown language: xx"
