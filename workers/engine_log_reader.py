"""Reads what an engine has printed since the last reading: a bounded part of its log file, as clean lines."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from telemetry.text import printable, without_terminal_codes
from workers.log_redaction import Redaction

READ_BYTES = 256 * 1024
"""The most that one reading looks at: the end of what is new."""

UNFINISHED_BYTES = 4 * 1024
"""A line that is longer than that is taken before its end has come, and the rest of it is left out."""

LAST_WORD_CHARACTERS = 500
"""Of a line that is cut before its secrets are hidden, the last word is left out, at most so much of it."""

MAX_LINES = 2000
"""The most lines that one reading looks at, also the empty ones: the latest."""

LINE_BYTES = 1000
"""A longer line is cut, in UTF-8."""

CUT_MARK = " [...]"


@dataclass(frozen=True, slots=True)
class LogPart:
    """New lines of a log, and how many bytes were left out before them."""

    lines: Sequence[str] = ()
    omitted_bytes: int = 0

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing new."""
        return not self.lines and not self.omitted_bytes


class EngineLogReader:
    """Follows one log file, which may not exist yet, and may be emptied while the engine writes to it."""

    def __init__(self, path: Path, redaction: Redaction) -> None:
        self._path = path
        self._redaction = redaction
        self._offset = 0
        self._is_inside_line = False  # the line at the offset has been taken or left out already

    def read(self, most: int, *, to_end: bool = False) -> LogPart:
        """The lines that were finished since the last reading, the latest `most` of them.

        `to_end`: the engine has ended, so that an unfinished line is one, too.
        """
        omitted, data = self._new_data()
        if self._is_inside_line:
            rest = data.find(b"\n") + 1
            self._is_inside_line = rest == 0
            rest = rest or len(data)
            omitted, data = omitted + rest, data[rest:]
        end = len(data) if to_end else max(data.rfind(b"\n"), data.rfind(b"\r")) + 1
        if len(data) - end > UNFINISHED_BYTES:
            end, self._is_inside_line = len(data), True
        self._offset -= len(data) - end
        before, *latest = data[:end].rsplit(b"\n", MAX_LINES)
        if len(latest) == MAX_LINES:
            omitted += len(before) + 1
        else:
            latest = [before, *latest]
        lines = [line for line in map(_shown, latest) if line]
        left_out = max(0, len(lines) - most)
        omitted += sum(len(line) + 1 for line in lines[:left_out])
        return LogPart([text for line in lines[left_out:] if (text := self._clean(line))], omitted)

    def _new_data(self) -> tuple[int, bytes]:
        """How many bytes are skipped, and the bytes after them. Moves the offset to their end."""
        with suppress(OSError), self._path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            if size < self._offset:  # it was emptied
                self._offset, self._is_inside_line = 0, False
            start = max(self._offset, size - READ_BYTES)
            skipped = start - self._offset
            self._is_inside_line = self._is_inside_line or skipped > 0
            file.seek(start)
            data = file.read(size - start)
            self._offset = start + len(data)
            return skipped, data
        return 0, b""

    def _clean(self, line: bytes) -> str:
        text = without_terminal_codes(line[:UNFINISHED_BYTES].decode("utf-8", "replace"))
        text = printable(text.expandtabs(4)).rstrip()
        if len(line) > UNFINISHED_BYTES:
            text = self._without_half_secrets(text)
        text = self._redaction.apply(text)
        encoded = text.encode()
        if len(encoded) <= LINE_BYTES and len(line) <= UNFINISHED_BYTES:
            return text
        return encoded[:LINE_BYTES].decode("utf-8", "ignore") + CUT_MARK

    def _without_half_secrets(self, text: str) -> str:
        """The beginning of a line that was cut, without what may be the first part of a secret at its end."""
        text = text[: max(0, len(text) - self._redaction.longest)]
        last_word = max(text.rfind(" ") + 1, len(text) - LAST_WORD_CHARACTERS)
        return text[: max(0, last_word)]


def _shown(line: bytes) -> bytes:
    """What a terminal would show of a line in which carriage returns overwrite what is before them."""
    return next((part for part in reversed(line.split(b"\r")) if part.strip()), b"")
