"""`max_tokens` 0 with `echo`: the answer is the prompt, with its log probabilities if they are asked for.

Engines generate one token at least with the log probabilities of a prompt: it is left out here.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from streams.events import End, Event, ScoredTextDelta, Usage


class PromptOnly:
    """Leaves out what follows the prompt, event by event. A scored prompt is the first event."""

    def __init__(self) -> None:
        self._is_begun = False

    def kept(self, event: Event) -> Event | None:
        """The event as it is answered; None for output that is left out."""
        if isinstance(event, End):
            if event.status not in ("completed", "incomplete"):
                return event
            usage = event.usage and without_output(event.usage)
            return replace(event, status="incomplete", finish_reason="length", usage=usage)
        is_first, self._is_begun = not self._is_begun, True
        return event if is_first and isinstance(event, ScoredTextDelta) else None

    def all_kept(self, events: Iterable[Event]) -> list[Event]:
        """The events of a whole answer."""
        return [kept for event in events if (kept := self.kept(event)) is not None]


def without_output(usage: Usage) -> Usage:
    """The usage of the prompt."""
    return replace(usage, output_tokens=0, reasoning_tokens=0)
