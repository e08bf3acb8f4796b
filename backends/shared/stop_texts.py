"""Ends an answer before a stop text, for servers that send that text, too, or do not see all of them."""

from __future__ import annotations

from collections.abc import Sequence


class StopTexts:
    """Looks for stop texts in an answer that arrives in pieces.

    Text that may be the beginning of a stop text is held back until that is decided.
    """

    def __init__(self, stops: Sequence[str]) -> None:
        self._stops = tuple(filter(None, stops))
        self._held = ""

    def feed(self, piece: str) -> tuple[str, str | None]:
        """Return the text that belongs to the answer by now, and the stop text that ended it, or None."""
        if not self._stops:
            return piece, None
        text = self._held + piece
        places = [(at + len(stop), at, stop) for stop in self._stops if (at := text.find(stop)) >= 0]
        if places:
            _, at, stop = min(places)  # the first one that is complete, however the answer is cut
            self._held = ""
            return text[:at], stop
        held = max(_begun(text, stop) for stop in self._stops)
        self._held = text[len(text) - held :]
        return text[: len(text) - held], None

    def rest(self) -> str:
        """Return what was held back, at the end of the answer."""
        held, self._held = self._held, ""
        return held


def _begun(text: str, stop: str) -> int:
    """How many characters at the end of the text are the beginning of a stop text."""
    longest = min(len(text), len(stop) - 1)
    return next((size for size in range(longest, 0, -1) if text.endswith(stop[:size])), 0)
