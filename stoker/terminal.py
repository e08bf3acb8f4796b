"""What a person sees while things happen: lines, and on a terminal one last line that changes."""

from __future__ import annotations

import contextlib
import shutil
import sys
from typing import TextIO


class Screen:
    """Writes to `out`; when that is not a terminal there are only plain lines."""

    def __init__(self, out: TextIO | None = None) -> None:
        """Write to stdout unless another file is given."""
        self._out = out or sys.stdout
        self._tty = self._out.isatty()
        self._status = ""

    def line(self, text: str = "") -> None:
        """A line that stays."""
        self._write(f"{self._erase()}{text}\n")

    def step(self, what: str, where: str, seconds: float | None = None) -> None:
        """Something has come up, after so many seconds."""
        took = "" if seconds is None else f"{seconds:6.1f} s"
        self.line(f"  {what:<8} {where:<32} {took}".rstrip())

    def status(self, text: str) -> None:
        """What happens now: replaces the last status on a terminal, is a line of its own elsewhere."""
        if text == self._status:
            return
        if self._tty:
            width = shutil.get_terminal_size().columns - 1
            self._write(f"{self._erase()}{text[:width]}")
        else:
            self._write(f"{text}\n")
        self._status = text

    def done(self) -> None:
        """Remove the status, if one stands."""
        self._write(self._erase())

    def _erase(self) -> str:
        had, self._status = self._status, ""
        return "\r\x1b[2K" if had and self._tty else ""

    def _write(self, text: str) -> None:
        # nobody may be reading any more (`stoker up | head`): that is no reason to stop a platform
        with contextlib.suppress(BrokenPipeError, ValueError):
            self._out.write(text)
            self._out.flush()
