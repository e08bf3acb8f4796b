"""A model's chat template, in the environment that it was written for."""

from __future__ import annotations

import pytest

from backends.shared.engine.chat_template import ChatTemplate


def rendered(source: str, **body: object) -> str:
    return ChatTemplate(source, {}).render({"messages": [{"role": "user", "content": "Hello."}], **body})


def test_what_is_marked_for_training_is_a_part_of_the_prompt() -> None:
    """Templates that were used in training have the tag: to Jinja alone it is an error."""
    said = (
        "{% set who = 'me' %}{%- generation -%} {{ messages[0].content }} {{ who }} {%- endgeneration -%} ."
    )
    assert rendered(said) == "Hello. me."


def test_what_is_set_where_the_model_speaks_is_unknown_behind_it() -> None:
    assert rendered("{% generation %}{% set a = 1 %}{{ a }}{% endgeneration %}{{ a is defined }}") == "1False"


@pytest.mark.parametrize(
    ("wish", "said"),
    [
        ("", '{"b": [1, "ü"], "a": 2}'),
        ("(separators=(',', ':'))", '{"b":[1,"ü"],"a":2}'),
        ("(sort_keys=true)", '{"a": 2, "b": [1, "ü"]}'),
        ("(ensure_ascii=True)", '{"b": [1, "\\u00fc"], "a": 2}'),
        ("(indent=1)", '{\n "b": [\n  1,\n  "ü"\n ],\n "a": 2\n}'),
    ],
)
def test_tools_are_written_as_the_template_wants_them(wish: str, said: str) -> None:
    """A model was trained on one form of them (Kimi's on the compact one), and calls worse with another."""
    assert rendered("{{ tools | tojson" + wish + " }}", tools={"b": [1, "ü"], "a": 2}) == said
