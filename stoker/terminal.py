"""Progress output: permanent lines and, on a terminal, one status line that is replaced; and questions."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
from collections.abc import Mapping
from typing import TextIO, TypeVar

T = TypeVar("T")


class TerminalOutput:
    """Writes to `out`; if that is not a terminal, there are only permanent lines. Reads from `keys`."""

    def __init__(self, out: TextIO | None = None, keys: TextIO | None = None) -> None:
        """Write to stdout and read from stdin by default."""
        self._out = out or sys.stdout
        self._keys = keys or sys.stdin
        self._tty = self._out.isatty()
        self._status = ""

    @property
    def is_terminal(self) -> bool:
        """Whether the output is a terminal, and not a file, a pipe or a log."""
        return self._tty

    @property
    def has_styles(self) -> bool:
        """Whether text may be dimmed: on a terminal, unless NO_COLOR is set (no-color.org)."""
        return self._tty and not os.environ.get("NO_COLOR")

    @property
    def width(self) -> int | None:
        """The columns of the terminal; None without one."""
        return shutil.get_terminal_size().columns if self._tty else None

    def line(self, text: str = "") -> None:
        """Write a permanent line."""
        self._write(f"{self._erase()}{text}\n")

    def write(self, text: str) -> None:
        """Write a piece of text as it is, in place of the status."""
        self._write(f"{self._erase()}{text}")

    def step(self, name: str, detail: str, seconds: float | None = None) -> None:
        """Report a component that is up, and the seconds that it took."""
        took = "" if seconds is None else f"{seconds:6.1f} s"
        self.line(f"  {name:<8} {detail:<32} {took}".rstrip())

    def status(self, text: str) -> None:
        """Show the current activity: on a terminal it replaces the last status, else it is a line."""
        if text == self._status:
            return
        erase = self._erase()
        self._status = text  # before it is written: Ctrl-C may come meanwhile
        if self._tty:
            width = shutil.get_terminal_size().columns - 1
            self._write(f"{erase}{text[:width]}")
        else:
            self._write(f"{text}\n")

    @property
    def can_ask(self) -> bool:
        """Whether a person can be asked: output and input are terminals."""
        return self._tty and self._keys.isatty()

    def choose(self, question: str, answers: Mapping[str, T], otherwise: T) -> T:
        """Ask until the reply is a key of `answers`, in any case; returns its value.

        `otherwise` is the value without a terminal to ask on, at the end of the input, and after Ctrl-C.
        """
        if not self.can_ask:
            return otherwise
        try:
            while True:
                self._write(f"{self._erase()}{question}")
                reply = self._keys.readline()
                if not reply:
                    break
                if (answer := answers.get(reply.strip().lower())) is not None:
                    return answer
        except KeyboardInterrupt:
            pass
        self._write("\n")
        return otherwise

    def done(self) -> None:
        """Remove the status line, if there is one."""
        self._write(self._erase())

    def _erase(self) -> str:
        had, self._status = self._status, ""
        return "\r\x1b[2K" if had and self._tty else ""

    def _write(self, text: str) -> None:
        # the reader may be gone (`stoker up | head`), which must not stop the platform
        with contextlib.suppress(BrokenPipeError, ValueError):
            self._out.write(text)
            self._out.flush()
