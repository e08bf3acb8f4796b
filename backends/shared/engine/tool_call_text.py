"""The text of one tool call as it comes: its name as soon as that is known, then its arguments bit by bit.

A long argument must not be silence: whoever watches the engine would take it for stalled.
"""

from __future__ import annotations

import re

LONGEST_HEAD = 300
"""Characters; a name that is not there by then is looked for when the call is whole."""


class CallText:
    """`head` matches what stands before the arguments, its group being the name; None: nothing is told
    early."""

    def __init__(self, head: re.Pattern[str] | None) -> None:
        self.name: str | None = None
        self.text = ""
        """All of it so far; of use to whoever has to read it whole, because no name was found."""
        self._head = head
        self._told = 0
        self._depth = 0
        self._in_string = False
        self._escaped = False
        self._whole = False

    @property
    def is_quoting(self) -> bool:
        """Whether what comes next is inside of a string of the arguments."""
        return self.name is not None and self._in_string and not self._whole

    def take(self, piece: str) -> str:
        """Take a piece; the bit of the arguments that it brought."""
        self.text += piece
        if self.name is None and not self._find_name(piece):
            return ""
        end = self._told
        while end < len(self.text) and not self._whole:
            self._follow(self.text[end])
            end += 1
        said, self._told = self.text[self._told : end], end
        return said

    def _find_name(self, piece: str) -> bool:
        if self._head is None or len(self.text) - len(piece) > LONGEST_HEAD:
            return False
        found = self._head.match(self.text)
        if found is None:
            return False
        self.name = found.group(1)
        self._told = found.end()
        return True

    def _follow(self, letter: str) -> None:
        """Keep count of brackets outside of strings: the arguments end where the first one is closed."""
        if self._escaped:
            self._escaped = False
        elif self._in_string:
            self._escaped = letter == "\\"
            self._in_string = letter != '"'
        elif letter == '"':
            self._in_string = True
        elif letter in "{[":
            self._depth += 1
        elif letter in "}]":
            self._depth -= 1
            self._whole = self._depth <= 0
