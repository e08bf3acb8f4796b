"""Reads what a person types: lines with a history, and messages of several lines between triple quotes."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from stoker.chat.commands import is_command

PROMPT, CONTINUED = ">>> ", "... "
QUOTES = '"""'
HISTORY_FILE = "chat_history"
HISTORY_LINES = 1000


@dataclass(frozen=True)
class Message:
    """What was typed. `is_command` is whether it is a command of the chat, and not a question."""

    text: str
    is_command: bool = False


class MessageReader:
    """Reads a message at a time with `read_line`, which gets the prompt."""

    def __init__(self, read_line: Callable[[str], str] = input) -> None:
        self._read_line = read_line

    def read(self) -> Message:
        """Read a message. Raises `EOFError`, `KeyboardInterrupt`.

        Without its quotes, if it had some; without the space before a slash, which makes a question of it.
        """
        line = self._read_line(PROMPT)
        if not line.lstrip().startswith(QUOTES):
            is_question = line.startswith(" /")
            return Message(line[1:] if is_question else line, is_command(line))
        lines = [line.lstrip().removeprefix(QUOTES)]
        while not lines[-1].rstrip().endswith(QUOTES):
            lines.append(self._read_line(CONTINUED))
        lines[-1] = lines[-1].rstrip().removesuffix(QUOTES)
        return Message("\n".join(lines).strip("\n"))


def is_empty_line() -> bool:
    """Whether the line that was being edited had no text when Ctrl-C was pressed."""
    try:
        import readline  # noqa: PLC0415 - not in every Python
    except ImportError:
        return True
    return not readline.get_line_buffer().strip()


@contextlib.contextmanager
def kept_history(folder: Path) -> Iterator[None]:
    """Read the history from a file of the folder, and keep it there, for its owner alone to read."""
    try:
        import readline  # noqa: PLC0415 - not in every Python
    except ImportError:
        yield
        return
    path = folder / HISTORY_FILE
    with contextlib.suppress(OSError):
        os.close(os.open(path, os.O_CREAT | os.O_RDONLY, 0o600))
        readline.read_history_file(path)
    readline.set_history_length(HISTORY_LINES)
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            if path.exists():
                readline.write_history_file(path)
