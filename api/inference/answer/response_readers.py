"""The readers of an answer: each follows the logs of its choices for one client, until they end.

An answer has one choice or several, and each choice is a response with a log of its own. All readers work in
callbacks of the event loop: no thread and no task is woken for an event. The request's coroutine waits for
`done` only.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence

from api.http.server.client_connection import ClientConnection
from api.inference.dialects.output import has_failed
from config.settings import Settings
from store.errors import StokerError
from streams.cursor import CursorState, LogCursor
from streams.events import End, Event, decode, decode_all, is_end
from streams.log import StreamLost
from streams.subscriber import EventSubscriber

logger = logging.getLogger("api")

# the end that a client gets when the log is gone, or the ledger has not ended the response in time
LOST = End(
    "failed",
    code="stream_lost",
    message="the platform can no longer follow this response, which may or may not have ended",
)


class StoreRefuses(StreamLost):
    """Raised when no event can come, as Redis refuses all writes; `error` says so."""

    def __init__(self, id: str, error: StokerError) -> None:
        super().__init__(id)
        self.error = error


def end_of(failure: Exception) -> End:
    """The end that a client gets in place of the events that do not come."""
    if isinstance(failure, StoreRefuses):
        return End("failed", code=failure.error.code, message=failure.error.message)
    return LOST


def longest_wait_s(settings: Settings) -> float:
    """The time within which the ledger ends every response."""
    bounded = settings.queue.timeout_ms + settings.lease.lease_ms
    return settings.limits.request_timeout_s + bounded / 1000 + 5


class ResponseReader:
    """Follows the responses of one answer's choices for one client.

    `done` is set at the end of the last choice, or of the first that fails, or when the client disconnects.
    """

    __slots__ = ("_choices", "_deadline", "_unended", "connection", "disconnected", "done")

    def __init__(self, connection: ClientConnection, settings: Settings, count: int = 1) -> None:
        loop = asyncio.get_running_loop()
        self.connection = connection
        self.disconnected = False
        self.done: asyncio.Future[None] = loop.create_future()
        self._choices: Sequence[ChoiceReader] = [self._new_choice() for _ in range(count)]
        self._unended = count
        self._deadline = loop.time() + longest_wait_s(settings)
        connection.on_disconnect(self._on_disconnect)

    @property
    def has_ended(self) -> bool:
        """Whether the `End` of each log has been read."""
        return not self._unended

    def follow(self, subscriber: EventSubscriber, id: str, choice: int = 0) -> LogCursor:
        """Follow a response as that choice, instead of one that was followed before."""
        reader = self._choices[choice]
        reader.close()
        reader.cursor = cursor = subscriber.subscribe(id, reader)
        return cursor

    def close(self) -> None:
        """Follow no response any more."""
        for choice in self._choices:
            choice.close()

    def restart(self) -> None:
        """Close, and drop what has come: other responses are followed from now on."""
        self.close()
        self._unended = len(self._choices)
        if self.done.done() and not self.disconnected:
            self.done = asyncio.get_running_loop().create_future()

    def sweep(self, now: float) -> None:
        """End the wait at its deadline."""
        if now < self._deadline:
            return
        for choice in self._choices:
            if choice.cursor is not None:
                choice.cursor.on_failure(StreamLost(choice.cursor.id))

    def refuse(self, error: StokerError) -> None:
        """End the wait with an error for which no event can come. What still reads a log goes on."""
        cursors = [choice.cursor for choice in self._choices if choice.cursor is not None]
        states = {cursor.state for cursor in cursors}
        if CursorState.LIVE in states and states <= {CursorState.LIVE, CursorState.CLOSED}:
            for cursor in cursors:
                cursor.on_failure(StoreRefuses(cursor.id, error))

    def end_choice(self, choice: ChoiceReader, data: bytes) -> None:
        """Take the encoded `End` of a choice."""
        choice.close()
        self._unended -= 1
        if not self._unended or has_failed(decode(data)):
            self._finish()

    def fail(self, error: Exception) -> None:
        """End with an error, for which no choice can be followed any more."""
        raise NotImplementedError

    def _new_choice(self) -> ChoiceReader:
        return ChoiceReader(self)

    def _finish(self) -> None:
        self.close()
        if not self.done.done():
            self.done.set_result(None)

    def _on_disconnect(self) -> None:
        if not self.done.done():
            self.disconnected = True
            self._finish()


class ChoiceReader:
    """Waits for the end of one choice, and keeps nothing. Fulfils `streams.cursor.Reader`."""

    __slots__ = ("cursor", "reader")

    def __init__(self, reader: ResponseReader) -> None:
        self.reader = reader
        self.cursor: LogCursor | None = None

    def close(self) -> None:
        """Follow the response no more."""
        if self.cursor is not None:
            self.cursor.close()

    def on_events(self, events: list[bytes]) -> None:
        """End the choice at its terminal event."""
        if is_end(events[-1]):
            self.reader.end_choice(self, events[-1])

    def on_failure(self, error: Exception) -> None:
        """Pass the failure to the reader of all choices."""
        self.reader.fail(error)


class EndReader(ResponseReader):
    """Waits for the end of a response, or of its log."""

    __slots__ = ()

    def fail(self, error: Exception) -> None:
        """Log the error, and finish."""
        logger.info("the end of a response cannot be awaited: %s", error)
        self._finish()


class CollectedChoice(ChoiceReader):
    """Collects the events of one choice."""

    __slots__ = ("entries",)

    def __init__(self, reader: ResponseReader) -> None:
        super().__init__(reader)
        self.entries: list[bytes] = []

    def on_events(self, events: list[bytes]) -> None:
        """Collect the events."""
        self.entries += events
        super().on_events(events)


class WholeReader(ResponseReader):
    """Collects the events of an answer in one piece; keeps the connection busy if the settings ask for it."""

    __slots__ = ("_failure", "_keep_alive_s", "_written_at")

    _choices: Sequence[CollectedChoice]

    def __init__(
        self, connection: ClientConnection, settings: Settings, count: int = 1, *, is_json: bool = True
    ) -> None:
        super().__init__(connection, settings, count)
        self._failure: Exception | None = None
        self._keep_alive_s = settings.api.whole_keep_alive_s if is_json else None
        self._written_at = asyncio.get_running_loop().time()

    def sweep(self, now: float) -> None:
        """Write white space, which JSON may begin with, when it is due, or end the wait at its deadline."""
        if self._keep_alive_s is not None and now - self._written_at >= self._keep_alive_s:
            self._written_at = now
            if not self.done.done() and self.connection.writable:
                self.connection.write_space()
        super().sweep(now)

    def logs(self) -> list[list[Event]]:
        """The events of each choice so far. Raises what ended the reading.

        After `done` either the last event of each is an `End`, or that of one which has failed.
        """
        logs = [decode_all(choice.entries) for choice in self._choices]
        if isinstance(self._failure, StreamLost):
            logs[0].append(end_of(self._failure))
        elif self._failure is not None:
            raise self._failure
        return logs

    def restart(self) -> None:
        """Close, and drop the events that have come."""
        super().restart()
        for choice in self._choices:
            choice.entries = []

    def fail(self, error: Exception) -> None:
        """Keep the error, and finish; `logs` raises it."""
        self._failure = error
        self._finish()

    def _new_choice(self) -> CollectedChoice:
        return CollectedChoice(self)
