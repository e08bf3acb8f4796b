"""The body of a request that continues a conversation."""

from __future__ import annotations

import json

import pytest

from stoker.chat.conversation import OWN_FIELDS, Conversation, InvalidField


def test_a_request_has_the_turns_before_it_and_is_not_stored():
    chat = Conversation("m", "Be brief.")
    chat.add_turn("Hello", "Hi")
    chat.set_field("temperature", "0.2")

    assert chat.request("And now?") == {
        "model": "m",
        "instructions": "Be brief.",
        "temperature": 0.2,
        "input": [
            {"role": "user", "content": "Hello"},
            {"role": "assistant", "content": "Hi"},
            {"role": "user", "content": "And now?"},
        ],
        "stream": True,
        "store": False,
    }


def test_a_turn_without_an_answer_is_left_out():
    chat = Conversation("m")
    chat.add_turn("Hello", "")
    assert chat.items == []


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", 0),
        ("enabled", "enabled"),
        ("true", True),
        ('{"effort": "low"}', {"effort": "low"}),
        ('"7"', "7"),
    ],
)
def test_a_field_is_json_or_else_text(text, value):
    chat = Conversation("m")
    chat.set_field("field", text)
    assert chat.fields == {"field": value}

    chat.set_field("field", "")
    assert chat.fields == {}


@pytest.mark.parametrize("name", OWN_FIELDS)
def test_a_field_that_the_chat_sets_itself_cannot_be_set(name):
    with pytest.raises(InvalidField, match=f"{name} is set by the chat itself"):
        Conversation("m").set_field(name, "x")


def test_a_saved_conversation_is_the_body_of_a_request():
    chat = Conversation("m", fields={"top_p": 1})
    chat.add_turn("Größe?", "Groß")

    saved = chat.saved()
    assert "Größe?" in saved
    assert json.loads(saved) == {"top_p": 1, "model": "m", "input": chat.items}
