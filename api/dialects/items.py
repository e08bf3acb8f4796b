"""The fold: an event log becomes an answer made of items, which both dialects tell, streaming or not."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum, auto

from streams.events import End, Event, ReasoningDelta, TextDelta, ToolCallDelta, Usage


class Speech(Enum):
    """What an item is made of."""

    REASONING = auto()
    MESSAGE = auto()
    CALL = auto()


class Step(Enum):
    """What an event did to an item."""

    OPENED = auto()
    GREW = auto()
    CLOSED = auto()


@dataclass(slots=True)
class Item:
    """A part of the answer: what was thought, said or called.

    `index` is its place in the answer; `call` its number among the calls, by which the engine names it.
    """

    speech: Speech
    index: int
    call: int = 0
    call_id: str | None = None
    name: str = ""
    pieces: list[str] = field(default_factory=list)
    whole: bool = False
    """True once it was said to its end; False while it is open, and for good when it was cut off."""

    @property
    def text(self) -> str:
        """All pieces: the text, or a call's arguments."""
        return "".join(self.pieces)


Change = tuple[Step, Item, str]
"""What happened, to which item, and the piece it grew by ("" unless it grew)."""


class Answer:
    """An answer as far as its events go.

    A message or a thought ends where the next one begins. Calls stay open to the end: an engine may tell
    several in turns.
    """

    def __init__(self) -> None:
        self.items: list[Item] = []
        self.end: End | None = None
        self._open: Item | None = None
        self._calls: dict[int, Item] = {}

    def take(self, event: Event) -> list[Change]:
        """Add an event; what it changed, in order."""
        match event:
            case TextDelta(text):
                return self._grow(Speech.MESSAGE, text)
            case ReasoningDelta(text):
                return self._grow(Speech.REASONING, text)
            case ToolCallDelta():
                return self._grow_call(event)
            case End():
                return self._finish(event)

    @property
    def status(self) -> str | None:
        """completed, incomplete, failed or cancelled; None while it goes on."""
        return None if self.end is None else verdict(self.end)

    @property
    def usage(self) -> Usage:
        """The tokens used; zeros where the engine told nothing."""
        return (self.end and self.end.usage) or Usage()

    def text(self, speech: Speech) -> str:
        """All that was said of one kind."""
        return "".join(item.text for item in self.items if item.speech is speech)

    def calls(self) -> list[Item]:
        """The calls, in the order they were opened."""
        return [item for item in self.items if item.speech is Speech.CALL]

    def _grow(self, speech: Speech, piece: str) -> list[Change]:
        changes: list[Change] = []
        if not piece:
            return changes
        item = self._open
        if item is None or item.speech is not speech:
            changes = self._close_open()
            item = self._open = self._add(Item(speech, len(self.items)))
            changes.append((Step.OPENED, item, ""))
        item.pieces.append(piece)
        changes.append((Step.GREW, item, piece))
        return changes

    def _grow_call(self, delta: ToolCallDelta) -> list[Change]:
        changes: list[Change] = []
        item = self._calls.get(delta.index)
        if item is None:
            changes = self._close_open()
            item = Item(Speech.CALL, len(self.items), len(self._calls), delta.id, delta.name or "")
            self._calls[delta.index] = self._add(item)
            changes.append((Step.OPENED, item, ""))
        if delta.arguments:
            item.pieces.append(delta.arguments)
            changes.append((Step.GREW, item, delta.arguments))
        return changes

    def _finish(self, end: End) -> list[Change]:
        self.end = end
        changes: list[Change] = []
        whole = end.status == "completed"
        if whole and not any(item.speech is not Speech.REASONING for item in self.items):
            # a model that has nothing to say says the empty text: clients read output[0] without asking
            changes = self._close_open()
            self._open = self._add(Item(Speech.MESSAGE, len(self.items)))
            changes.append((Step.OPENED, self._open, ""))
        changes += self._close_open(whole=whole)
        for item in self._calls.values():
            item.whole = whole
            changes.append((Step.CLOSED, item, ""))
        return changes

    def _close_open(self, *, whole: bool = True) -> list[Change]:
        item, self._open = self._open, None
        if item is None:
            return []
        item.whole = whole
        return [(Step.CLOSED, item, "")]

    def _add(self, item: Item) -> Item:
        self.items.append(item)
        return item


def verdict(end: End) -> str:
    """How a response ended, as its client sees it: completed, incomplete, failed or cancelled.

    Cancelled is only what the client asked for. A job that the platform took out of line for a reason of
    its own (model_unloading) has failed.
    """
    if end.status == "cancelled" and end.code not in (None, "cancelled"):
        return "failed"
    return end.status


def fold(events: Iterable[Event]) -> Answer:
    """The answer that the events make."""
    answer = Answer()
    for event in events:
        answer.take(event)
    return answer
