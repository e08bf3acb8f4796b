"""The commands of the chat: lines that begin with a slash.

A command changes the conversation, or returns what the session has to do: it does neither input nor output.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable
from dataclasses import dataclass

from stoker.chat.conversation import Conversation, InvalidField

COMMAND = re.compile(r"/[a-z]+")

HELP = """\
/system [TEXT]        set the system message; without text, remove it
/clear                forget the conversation
/model [NAME]         go on with another model; without a name, list the models
/set [FIELD [VALUE]]  set a field of the request (/set temperature 0.2); without a value, unset it
/save [FILE]          write the conversation to a file, as the body of a request
/exit                 leave; so does Ctrl-D
\"\"\" begins and ends a message of several lines. Ctrl-C stops an answer. A space before / sends the line."""


@dataclass(frozen=True)
class Outcome:
    """What a command leads to: `lines` to show, and at most one thing for the session to do.

    `model` is to be used from now on, `save_to` the file to write ("" for a name made from the time).
    """

    lines: tuple[str, ...] = ()
    leave: bool = False
    list_models: bool = False
    model: str | None = None
    save_to: str | None = None


def is_command(text: str) -> bool:
    """Whether a line is a command: it begins with a slash and a word. One after a space is none."""
    return COMMAND.fullmatch(text.split(maxsplit=1)[0]) is not None if text.startswith("/") else False


def run_command(text: str, conversation: Conversation) -> Outcome:
    """Run a command on the conversation."""
    name, _, argument = text.strip().partition(" ")
    command = COMMANDS.get(name)
    if command is None:
        near = difflib.get_close_matches(name, COMMANDS, 1)
        hint = f"did you mean {near[0]}?" if near else "/help lists the commands"
        return Outcome((f"there is no {name}; {hint}",))
    return command(argument.strip(), conversation)


def _help(_argument: str, _conversation: Conversation) -> Outcome:
    return Outcome(tuple(HELP.splitlines()))


def _system(argument: str, conversation: Conversation) -> Outcome:
    conversation.instructions = argument or None
    return Outcome(("the system message is set" if argument else "there is no system message",))


def _clear(_argument: str, conversation: Conversation) -> Outcome:
    conversation.clear()
    return Outcome(("the conversation is forgotten",))


def _model(argument: str, _conversation: Conversation) -> Outcome:
    return Outcome(model=argument) if argument else Outcome(list_models=True)


def _set(argument: str, conversation: Conversation) -> Outcome:
    name, _, value = argument.partition(" ")
    try:
        if name:
            conversation.set_field(name, value.strip())
    except InvalidField as error:
        return Outcome((str(error),))
    fields = [f"{field} = {value!r}" for field, value in conversation.fields.items()]
    return Outcome(tuple(fields or ["no field is set"]))


def _save(argument: str, conversation: Conversation) -> Outcome:
    if not conversation.items:
        return Outcome(("the conversation is empty",))
    return Outcome(save_to=argument)


def _exit(_argument: str, _conversation: Conversation) -> Outcome:
    return Outcome(leave=True)


COMMANDS: dict[str, Callable[[str, Conversation], Outcome]] = {
    "/help": _help,
    "/system": _system,
    "/clear": _clear,
    "/model": _model,
    "/set": _set,
    "/save": _save,
    "/exit": _exit,
}
