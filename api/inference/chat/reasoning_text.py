"""Reasoning as a part of the text, for requests with `reasoning_format: none` (llama.cpp, tools/server).

The log has the reasoning apart, without the model's own markers, so these are the same for all models.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from streams.events import End, Event, PromptProgress, ReasoningDelta, ScoredTextDelta, TextDelta

BEGIN, END = "<think>\n", "\n</think>\n\n"


class ReasoningInText:
    """Turns the reasoning of a log into text, between two markers. An answer cut off before has no second."""

    def __init__(self) -> None:
        self._is_open = False

    def convert(self, event: Event) -> Iterator[Event]:
        """Yield the next event of the log as one or more without reasoning."""
        if isinstance(event, ReasoningDelta):
            begin = "" if self._is_open else BEGIN
            self._is_open = True
            yield TextDelta(begin + event.text)
        elif self._is_open and not isinstance(event, End | PromptProgress):
            self._is_open = False
            if isinstance(event, TextDelta | ScoredTextDelta):
                yield replace(event, text=END + event.text)
            else:
                yield TextDelta(END)
                yield event
        else:
            yield event

    @classmethod
    def of(cls, events: Iterable[Event]) -> Iterator[Event]:
        """Yield the events of a whole log."""
        reader = cls()
        for event in events:
            yield from reader.convert(event)
