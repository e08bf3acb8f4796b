"""The commands of the chat, which change a conversation."""

from __future__ import annotations

import pytest

from stoker.chat.commands import COMMANDS, Outcome, is_command, run_command
from stoker.chat.conversation import Conversation


@pytest.fixture
def chat() -> Conversation:
    made = Conversation("m")
    made.add_turn("Hello", "Hi")
    return made


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("/help", True),
        ("/set a b", True),
        ("/bye", True),
        ("/ or", False),
        (" /help", False),
        ("/etc/x?", False),
    ],
)
def test_a_command_is_a_line_that_begins_with_a_slash_and_a_word(line, expected):
    assert is_command(line) is expected


def test_the_help_names_all_commands(chat):
    text = "\n".join(run_command("/help", chat).lines)
    assert [name for name in COMMANDS if name not in text] == ["/help"]


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("/sytem x", "there is no /sytem; did you mean /system?"),
        ("/q", "there is no /q; /help lists the commands"),
    ],
)
def test_an_unknown_command_is_answered_with_the_nearest_one(chat, line, sentence):
    assert run_command(line, chat) == Outcome((sentence,))


def test_the_system_message_is_set_and_removed(chat):
    run_command("/system  Be brief. ", chat)
    assert chat.instructions == "Be brief."

    run_command("/system", chat)
    assert chat.instructions is None


def test_clear_forgets_the_turns_and_keeps_the_rest(chat):
    run_command("/set temperature 0", chat)
    run_command("/clear", chat)
    assert (chat.items, chat.fields) == ([], {"temperature": 0})


def test_set_shows_the_fields_after_each_change(chat):
    assert run_command("/set", chat).lines == ("no field is set",)
    assert run_command("/set thinking enabled", chat).lines == ("thinking = 'enabled'",)
    assert run_command("/set stream false", chat).lines == ("stream is set by the chat itself",)
    assert run_command("/set thinking", chat).lines == ("no field is set",)


@pytest.mark.parametrize(
    ("line", "outcome"),
    [
        ("/model", Outcome(list_models=True)),
        ("/model org/name:Q4", Outcome(model="org/name:Q4")),
        ("/save", Outcome(save_to="")),
        ("/save my chat.json", Outcome(save_to="my chat.json")),
        ("/exit", Outcome(leave=True)),
    ],
)
def test_a_command_that_needs_input_or_output_leaves_it_to_the_session(chat, line, outcome):
    assert run_command(line, chat) == outcome


def test_an_empty_conversation_is_not_saved():
    assert run_command("/save x", Conversation("m")) == Outcome(("the conversation is empty",))
