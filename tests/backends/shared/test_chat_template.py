"""The rendering of chat templates."""

from __future__ import annotations

import pytest

from backends.shared.engine.chat_template import ChatTemplate


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
