"""One step of an engine: what all its generations said in it, as one frame."""

from __future__ import annotations

from typing import Any

Call = tuple[int, str, str | None, str | None]
"""Index, a piece of the arguments, and with the first piece the call's id and its function's name."""


class Step:
    """Gathers; `frame` is what goes over the pipe. Empty frames need not be sent."""

    def __init__(self) -> None:
        self.frame: dict[str, list[Any]] = {}

    def say(self, number: int, kind: str, piece: str) -> None:
        """A piece of reasoning or text."""
        self._add(kind, (number, [piece]))

    def call(self, number: int, call: Call) -> None:
        """A piece of a tool call."""
        self._add("calls", (number, [call]))

    def end(self, number: int, reason: str, usage: tuple[int, int, int, int]) -> None:
        """The end: its reason, and input, output, cached and reasoning tokens."""
        self._add("ends", (number, reason, usage))

    def error(self, number: int, code: str, message: str) -> None:
        """The end of a generation that failed, while the engine lives on."""
        self._add("errors", (number, code, message))

    def _add(self, key: str, entry: tuple[Any, ...]) -> None:
        self.frame.setdefault(key, []).append(entry)
