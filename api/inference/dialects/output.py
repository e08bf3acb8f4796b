"""The output of a response: an event log becomes items, which both dialects render, streaming or not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import Enum, auto

from streams.events import (
    End,
    Event,
    ReasoningDelta,
    ScoredTextDelta,
    TextDelta,
    TokenLogprob,
    ToolCallDelta,
    Usage,
)


class ItemKind(Enum):
    """The kind of an output item."""

    REASONING = auto()
    MESSAGE = auto()
    CALL = auto()


_MESSAGE = ItemKind.MESSAGE  # in Python 3.11 to look it up in its Enum takes longer than all else for a token


class ChangeKind(Enum):
    """The effect of an event on an item."""

    OPENED = auto()
    EXTENDED = auto()
    CLOSED = auto()


@dataclass(slots=True)
class OutputItem:
    """One item of the output: reasoning, a message or a function call.

    `index` is its position in the output; `call_number` its position among the calls.
    """

    kind: ItemKind
    index: int
    call_number: int = 0
    call_id: str | None = None
    name: str = ""
    pieces: list[str] = field(default_factory=list)
    logprobs: list[TokenLogprob] = field(default_factory=list)
    complete: bool = False
    """False while the item is open, and for good if the response ended before it."""

    @property
    def text(self) -> str:
        """All pieces: the text, or a call's arguments."""
        if len(self.pieces) > 1:
            self.pieces = ["".join(self.pieces)]  # the last frames of a stream share one copy of a long text
        return self.pieces[0] if self.pieces else ""


ItemChange = tuple[ChangeKind, OutputItem, str]
"""The kind of the change, the item, and the text that was appended ("" unless it was EXTENDED)."""


class ResponseOutput:
    """The output items of a response, built from its events so far.

    A message or reasoning item is closed when the next item is opened. Calls stay open until the end, because
    an engine may interleave the arguments of several calls.
    """

    def __init__(self) -> None:
        self.items: list[OutputItem] = []
        self.end: End | None = None
        self._open: OutputItem | None = None
        self._calls: dict[int, OutputItem] = {}

    @classmethod
    def of(cls, events: Iterable[Event]) -> ResponseOutput:
        """The output that the events make."""
        output = cls()
        for event in events:
            output.apply(event)
        return output

    def apply(self, event: Event) -> list[ItemChange]:
        """Add an event. Returns the changes that it made, in order."""
        match event:
            case TextDelta(text):
                return self._extend(ItemKind.MESSAGE, text)
            case ScoredTextDelta(text, tokens):
                changes = self._extend(ItemKind.MESSAGE, text, keep=True)
                changes[-1][1].logprobs += tokens
                return changes
            case ReasoningDelta(text):
                return self._extend(ItemKind.REASONING, text)
            case ToolCallDelta():
                return self._extend_call(event)
            case End():
                return self._finish(event)
            case _:
                return []  # no part of an answer in text: the dialects that have them render them

    def continue_message(self, text: str) -> OutputItem | None:
        """Add text to the open message, and return that; None, with no effect, if `apply` is needed."""
        item = self._open
        if not text or item is None or item.kind is not _MESSAGE:
            return None
        item.pieces.append(text)
        return item

    def open_message(self, text: str) -> OutputItem | None:
        """Begin the output with a message, and return that; None, with no effect, if `apply` is needed."""
        if not text or self.items:
            return None
        self._open = self._add(OutputItem(_MESSAGE, 0, pieces=[text]))
        return self._open

    @property
    def status(self) -> str | None:
        """completed, incomplete, failed or cancelled; None before the end."""
        return None if self.end is None else final_status(self.end)

    @property
    def usage(self) -> Usage:
        """The tokens used; zeros if the engine reported none."""
        return (self.end and self.end.usage) or Usage()

    def text(self, kind: ItemKind) -> str:
        """The text of all items of this kind."""
        return "".join(item.text for item in self.items if item.kind is kind)

    def logprobs(self) -> Iterator[TokenLogprob]:
        """The tokens of all messages with their log probabilities; empty unless they were asked for."""
        return (token for item in self.items for token in item.logprobs)

    def calls(self) -> list[OutputItem]:
        """The function calls, in the order in which they were opened."""
        return [item for item in self.items if item.kind is ItemKind.CALL]

    def _extend(self, kind: ItemKind, piece: str, *, keep: bool = False) -> list[ItemChange]:
        """Add a piece to the open item of that kind, or open one; an empty piece counts only with `keep`."""
        changes: list[ItemChange] = []
        if not (piece or keep):
            return changes
        item = self._open
        if item is None or item.kind is not kind:
            changes = self._close_open()
            item = self._open = self._add(OutputItem(kind, len(self.items)))
            changes.append((ChangeKind.OPENED, item, ""))
        item.pieces.append(piece)
        changes.append((ChangeKind.EXTENDED, item, piece))
        return changes

    def _extend_call(self, delta: ToolCallDelta) -> list[ItemChange]:
        changes: list[ItemChange] = []
        item = self._calls.get(delta.index)
        if item is None:
            changes = self._close_open()
            item = OutputItem(ItemKind.CALL, len(self.items), len(self._calls), delta.id, delta.name or "")
            self._calls[delta.index] = self._add(item)
            changes.append((ChangeKind.OPENED, item, ""))
        if delta.arguments:
            item.pieces.append(delta.arguments)
            changes.append((ChangeKind.EXTENDED, item, delta.arguments))
        return changes

    def _finish(self, end: End) -> list[ItemChange]:
        self.end = end
        changes: list[ItemChange] = []
        complete = end.status == "completed"
        if complete and not any(item.kind is not ItemKind.REASONING for item in self.items):
            # an empty output still gets an empty message: clients read output[0] without checking
            changes = self._close_open()
            self._open = self._add(OutputItem(ItemKind.MESSAGE, len(self.items)))
            changes.append((ChangeKind.OPENED, self._open, ""))
        changes += self._close_open(complete=complete)
        for item in self._calls.values():
            item.complete = complete
            changes.append((ChangeKind.CLOSED, item, ""))
        return changes

    def _close_open(self, *, complete: bool = True) -> list[ItemChange]:
        item, self._open = self._open, None
        if item is None:
            return []
        item.complete = complete
        return [(ChangeKind.CLOSED, item, "")]

    def _add(self, item: OutputItem) -> OutputItem:
        self.items.append(item)
        return item


def final_status(end: End) -> str:
    """The final status of a response: completed, incomplete, failed or cancelled.

    A response is `cancelled` only if its client asked for that. A job that the platform removed from the
    queue for a reason of its own (model_unloading) is `failed`.
    """
    if end.status == "cancelled" and end.code not in (None, "cancelled"):
        return "failed"
    return end.status


def has_failed(event: Event) -> bool:
    """Whether the event ends its response without a result."""
    return isinstance(event, End) and final_status(event) in ("failed", "cancelled")
