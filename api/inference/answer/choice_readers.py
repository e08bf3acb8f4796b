"""Readers of several responses at once, which are the choices of one answer
(`api.inference.dialects.choices`).

Each choice has a log cursor of its own. Its reader passes the events on with the choice's index.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from api.http.frames import Frame
from api.http.server.client_connection import ClientConnection
from api.inference.answer.response_readers import ResponseReader, StreamingReader, WholeReader
from api.inference.dialects.base import Framing, StreamRenderer
from api.inference.dialects.choices import joined_end
from api.inference.dialects.measurements import measurements
from api.inference.dialects.output import final_status
from config.settings import Settings
from streams.cursor import LogCursor
from streams.events import End, Event, Usage, decode, decode_all, is_end
from streams.subscriber import EventSubscriber


class CursorGroup:
    """The cursors of all choices, used by a reader as one cursor."""

    def __init__(self, reader: ChoicesReader, count: int) -> None:
        self._reader = reader
        self._cursors: list[LogCursor | None] = [None] * count

    @property
    def id(self) -> str:
        """The response of the first choice."""
        first = self._cursors[0]
        return "" if first is None else first.id

    @property
    def number(self) -> int:
        """How many events were delivered."""
        return sum(cursor.number for cursor in self._cursors if cursor is not None)

    def follow(self, subscriber: EventSubscriber, index: int, id: str) -> LogCursor:
        """Follow a response as that choice, instead of one that was followed before."""
        self.close_choice(index)
        cursor = self._cursors[index] = subscriber.subscribe(id, _Feed(self._reader, index))
        return cursor

    def close_choice(self, index: int) -> None:
        """Follow that choice no more."""
        cursor = self._cursors[index]
        if cursor is not None:
            cursor.close()

    def close(self) -> None:
        """See `LogCursor.close`."""
        for index in range(len(self._cursors)):
            self.close_choice(index)

    def pause(self) -> None:
        """See `LogCursor.pause`."""
        for cursor in self._cursors:
            if cursor is not None:
                cursor.pause()

    def resume(self) -> None:
        """See `LogCursor.resume`."""
        for cursor in self._cursors:
            if cursor is not None:
                cursor.resume()

    def deliver(self, index: int, events: list[bytes]) -> None:
        """Pass on events of a choice that were held back."""
        try:
            self._reader.on_choice(index, events)
        except Exception as error:
            self.on_failure(error)

    def on_failure(self, error: Exception) -> None:
        """See `LogCursor.on_failure`."""
        self.close()
        self._reader.on_failure(error)


class ChoicesReader(ResponseReader):
    """Follows the choices of one answer. The first one that fails ends the whole."""

    __slots__ = ()

    def follow_choice(self, subscriber: EventSubscriber, index: int, id: str) -> LogCursor:
        """Follow a response as that choice, instead of one that was followed before."""
        raise NotImplementedError

    def forget_events(self) -> None:
        """Drop what has come: other responses are followed from now on."""
        raise NotImplementedError

    def on_choice(self, index: int, events: list[bytes]) -> None:
        """Take the next events of a choice."""
        raise NotImplementedError

    def _wait_again(self) -> None:
        if self.done.done() and not self.disconnected:
            self.done = asyncio.get_running_loop().create_future()


class _Feed:
    """The reader of one choice. Fulfils `streams.cursor.Reader`."""

    __slots__ = ("_index", "_reader")

    def __init__(self, reader: ChoicesReader, index: int) -> None:
        self._reader, self._index = reader, index

    def on_events(self, events: list[bytes]) -> None:
        """See `Reader.on_events`."""
        self._reader.on_choice(self._index, events)

    def on_failure(self, error: Exception) -> None:
        """See `Reader.on_failure`."""
        self._reader.close()
        self._reader.on_failure(error)


def has_failed(end: End) -> bool:
    """Whether a choice with this end fails the request."""
    return final_status(end) in ("failed", "cancelled")


class WholeChoicesReader(WholeReader, ChoicesReader):
    """Collects the events of all choices, for an answer in one piece."""

    __slots__ = ("_group", "_logs", "failed")

    def __init__(self, connection: ClientConnection, settings: Settings, count: int) -> None:
        super().__init__(connection, settings)
        self._cursor = self._group = CursorGroup(self, count)
        self._logs: list[list[bytes]] = [[] for _ in range(count)]
        self.failed: End | None = None
        """The end of the choice that has failed."""

    def logs(self) -> list[list[Event]]:
        """The events of each choice, after `done`. Raises what ended the reading."""
        events = self.events()  # of no choice: the reason why the reading ended, if it is none of theirs
        if events and isinstance(events[-1], End):
            self.failed = events[-1]
        return [decode_all(log) for log in self._logs]

    def follow_choice(self, subscriber: EventSubscriber, index: int, id: str) -> LogCursor:
        """See `ChoicesReader.follow_choice`."""
        return self._group.follow(subscriber, index, id)

    def forget_events(self) -> None:
        """See `ChoicesReader.forget_events`."""
        self._logs = [[] for _ in self._logs]
        self.failed = None
        self._wait_again()

    def on_choice(self, index: int, events: list[bytes]) -> None:
        """See `ChoicesReader.on_choice`."""
        self._logs[index] += events
        if not is_end(events[-1]):
            return
        self._group.close_choice(index)
        end = decode(events[-1])
        assert isinstance(end, End)  # noqa: S101 - `is_end`
        if has_failed(end):
            self.failed = end
            self._finish()
        elif all(log and is_end(log[-1]) for log in self._logs):
            self.has_ended = True
            self._finish()


class StreamingChoicesReader(StreamingReader, ChoicesReader):
    """Writes the events of all choices to the client when they come."""

    __slots__ = ("_early_choices", "_ends", "_group", "_last_frames_of", "_n", "_renderers")

    def __init__(self, connection: ClientConnection, settings: Settings, count: int, n: int) -> None:
        super().__init__(connection, settings)
        self._cursor = self._group = CursorGroup(self, count)
        self._n = n
        self._ends: list[End | None] = [None] * count
        self._renderers: Sequence[StreamRenderer] = ()
        self._last_frames_of: Callable[[Usage], list[Frame]] = lambda _: []
        self._early_choices: list[tuple[int, list[bytes]]] = []  # what came before `begin_choices`

    def follow_choice(self, subscriber: EventSubscriber, index: int, id: str) -> LogCursor:
        """See `ChoicesReader.follow_choice`."""
        return self._group.follow(subscriber, index, id)

    def forget_events(self) -> None:
        """See `ChoicesReader.forget_events`."""
        self._early_choices = []
        self._wait_again()

    def begin_choices(
        self,
        renderers: Sequence[StreamRenderer],
        last_frames: Callable[[Usage], list[Frame]],
        framing: Framing,
    ) -> None:
        """Begin the answer, with the events that have come already.

        `last_frames` makes the frames that follow the last choice, of the usage of all.
        """
        self._renderers, self._last_frames_of = renderers, last_frames
        self.begin(_Beginning(renderers), framing)
        early, self._early_choices = self._early_choices, []
        for index, events in early:
            if not (self.done.done() or self._early_failure):
                self._group.deliver(index, events)

    def on_choice(self, index: int, events: list[bytes]) -> None:
        """See `ChoicesReader.on_choice`."""
        if not self._renderers:
            self._early_choices.append((index, events))
            return
        renderer = self._renderers[index]
        has_end = is_end(events[-1])
        pieces = events[:-1] if has_end else events
        self._write(b"".join([self._render(renderer, event) for event in pieces]))
        if has_end:
            self._end_choice(index, events[-1])

    def _end_choice(self, index: int, data: bytes) -> None:
        self._group.close_choice(index)
        end = decode(data)
        assert isinstance(end, End)  # noqa: S101 - `is_end`
        frames = self._renderers[index].render(end)
        self._ends[index] = end
        ends = [end for end in self._ends if end is not None]
        if has_failed(end):
            self._end(frames)
        elif len(ends) < len(self._ends):
            self._write(self._encode(frames))
        else:
            self.has_ended = True
            joined = joined_end(ends, self._n)
            frames += self._last_frames_of(joined.usage or Usage())
            frames[-1][1].update(measurements(joined))
            self._end(frames)


class _Beginning:
    """What a stream of several choices begins with. Fulfils `StreamRenderer`."""

    def __init__(self, renderers: Sequence[StreamRenderer]) -> None:
        self._renderers = renderers

    def begin(self) -> list[Frame]:
        """The first frames of all choices."""
        return [frame for renderer in self._renderers for frame in renderer.begin()]

    def render(self, event: Event) -> list[Frame]:
        """The frames of an event that ends the whole stream."""
        return self._renderers[0].render(event)

    def render_text(self, text: str) -> bytes:  # noqa: ARG002 - see `StreamRenderer`
        """Nothing: each text belongs to a choice."""
        return b""
