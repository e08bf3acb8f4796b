"""What a dialect is, and the small dataclasses that go in and out of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from streams.events import Event
from tasks.generation import Generation

Frame = tuple[str, dict[str, Any]]
"""One server-sent event: its name ("" for a dialect that names none) and its data."""


@dataclass(frozen=True, slots=True)
class ParsedRequest:
    """A request as the platform understands it.

    `echo` (plain JSON) is kept beside the event log: with it the answer can be rendered again by anybody.
    For errors that name their place: `conversation` is the field of the body that holds what was said
    (`input`, `messages`), `images` are where its images stand (`input[0].content[1]`).
    """

    generation: Generation
    echo: Mapping[str, Any] = field(default_factory=dict)
    stream: bool = False
    store: bool = False
    background: bool = False
    conversation: str = "messages"
    images: tuple[str, ...] = ()

    @property
    def waits(self) -> bool:
        """Whether its client listens until the end."""
        return self.stream or not self.background


@dataclass(frozen=True, slots=True)
class Head:
    """What is known of a response before its first event. `created_at` is in Unix seconds."""

    id: str
    created_at: int
    model: str
    echo: Mapping[str, Any]


class Rendering(Protocol):
    """A response being told, frame by frame. Takes part in no input or output of its own."""

    def begin(self) -> list[Frame]:
        """The frames that come before the first event."""
        ...

    def tell(self, event: Event) -> list[Frame]:
        """The frames of the next event of the log; after those of an `End` there are no more."""
        ...


class Dialect(Protocol):
    """A protocol. The modules `responses` and `chat` are the two of them."""

    NAME: str
    """How the ledger knows it."""

    ID_PREFIX: str
    """How the ids of its responses begin."""

    SHOWS_CANCELLED: bool
    """Whether its answer can say "cancelled"; if not, that is an error."""

    def parse(self, body: dict[str, Any]) -> ParsedRequest:
        """Understand a body that has the dialect's shape. Raises `InvalidRequest`."""
        ...

    def rendering(self, head: Head) -> Rendering:
        """Begin to tell a response."""
        ...

    def answer(self, head: Head, events: Iterable[Event], pending: str = "in_progress") -> dict[str, Any]:
        """The response as one JSON object, as far as the events go; its status is `pending` until the end."""
        ...


def render(rendering: Rendering, events: Iterable[Event]) -> Iterator[Frame]:
    """All frames of a response."""
    yield from rendering.begin()
    for event in events:
        yield from rendering.tell(event)
