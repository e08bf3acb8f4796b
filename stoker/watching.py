"""`--watch` of a command: redraws its lines on a terminal, and prints each change of them into a pipe."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import click

from stoker.chat.rendering import printable
from stoker.client import ApiClient
from stoker.following import Reconnecting, pause
from stoker.results import is_json, print_json_line, print_lines, print_note
from stoker.tables import cut_to_width

CLEAR_SCREEN, CLEAR_LINE_END, CLEAR_BELOW = "\x1b[2J\x1b[H", "\x1b[K", "\x1b[J"


@dataclass(frozen=True)
class Watched:
    """What is watched: an answer of the API, its field `rows` for JSON, and its lines.

    `state` is the part of the answer whose change is printed.
    """

    path: str
    rows: str
    lines: Callable[[dict[str, Any]], list[str]]
    state: Callable[[dict[str, Any]], object]


def watch(connect: Callable[[], ApiClient], watched: Watched) -> NoReturn:
    """Show the lines until Ctrl-C. Raises `ApiClientError`, `BrokenPipeError` when the reader is gone."""
    drawing = Drawing() if _can_redraw() and not is_json() else None
    api = Reconnecting(connect, drawing.note if drawing is not None else print_note)
    before: object = None
    while True:
        answer = api.get(watched.path)
        if answer is not None and drawing is not None:
            drawing.draw([f"{_now()}   Ctrl-C ends", "", *watched.lines(answer)])
        elif answer is not None:
            state = watched.state(answer)
            if state != before:
                _print_change(watched, answer)
            before = state
        pause()


def _print_change(watched: Watched, answer: dict[str, Any]) -> None:
    if is_json():
        print_json_line(answer.get(watched.rows, []))
    else:
        print_lines([_now(), *watched.lines(answer), ""])


def _now() -> str:
    return time.strftime("%H:%M:%S")


def _can_redraw() -> bool:
    """Whether standard output is a terminal whose lines can be written again."""
    return sys.stdout.isatty() and os.environ.get("TERM", "dumb") != "dumb"


class Drawing:
    """Lines on a terminal, which are replaced by the next ones. They are cut to its size."""

    def __init__(self) -> None:
        self._height = 0  # of the lines that are drawn
        self._size: tuple[int, int] | None = None

    def draw(self, lines: Sequence[str]) -> None:
        """Replace the lines that were drawn before."""
        size = shutil.get_terminal_size()
        if self._size in (None, size):
            start = f"\x1b[{self._height}A\r" if self._height else ""
        else:
            start = CLEAR_SCREEN  # lines were wrapped or moved by the change of the size
        self._size = size
        shown = self._cut([part for line in lines for part in line.splitlines() or [""]], size)
        self._height = len(shown)
        drawn = "".join(f"{line}{CLEAR_LINE_END}\n" for line in shown)
        click.echo(start + drawn + CLEAR_BELOW, nl=False, color=True)

    def note(self, text: str) -> None:
        """Print a sentence that stays; what was drawn stays above it."""
        self._height = 0
        print_note(text)

    @staticmethod
    def _cut(lines: Sequence[str], size: os.terminal_size) -> list[str]:
        """The lines as they fit; the last one tells how many are left out."""
        room = max(1, size.lines - 1)
        kept = (
            list(lines) if len(lines) <= room else [*lines[: room - 1], f"{len(lines) - room + 1} more lines"]
        )
        return [cut_to_width(printable(line), max(1, size.columns - 1)) for line in kept]
