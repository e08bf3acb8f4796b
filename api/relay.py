"""One client's wait for what a response says, and what happens when either side goes away."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from socket import socket

from api import sse
from api.dialects.base import Rendering
from api.hangups import Hangups
from config.settings import Settings
from scheduler.errors import StorageUnavailable
from scheduler.scripts import translate
from streams.errors import StreamLost
from streams.events import End, Event
from streams.inbox import Tail

logger = logging.getLogger("api")

BURST = 64
"""Events gathered into one write; a client that is slow hears more at once."""

LOST = End(
    "failed",
    code="stream_lost",
    message="the platform lost sight of this response; it may have ended or not",
)


class ClientGone(Exception):
    """Raised when the client has hung up, so that nobody is there to answer."""


def longest_wait_s(settings: Settings) -> float:
    """After this long a response has ended, by the ledger's promise; to wait longer is in vain."""
    bounded = settings.queue.timeout_ms + settings.lease.lease_ms
    return settings.limits.request_timeout_s + bounded / 1000 + 5


class Relay:
    """Reads a `Tail` for one client.

    `on_abandon` is called when it is closed before the response has ended, `on_close` when it is closed.
    """

    def __init__(
        self,
        tail: Tail,
        settings: Settings,
        *,
        on_abandon: Callable[[], object] | None = None,
        on_close: Callable[[], None] | None = None,
    ) -> None:
        self._tail = tail
        self._keep_alive_s = settings.api.keep_alive_s
        self._deadline = time.monotonic() + longest_wait_s(settings)
        self._on_abandon, self._on_close = on_abandon, on_close
        self._gone = False
        self._ended = False  # its log has
        self._done = False  # we have, with or without it
        self._closed = False
        self._unwatch: Callable[[], None] | None = None

    def watch(self, hangups: Hangups, connection: socket | None) -> None:
        """Have the wait end when the client hangs up."""
        watch = hangups.watch(connection, self._hang_up)
        self._unwatch = lambda: hangups.forget(watch)

    def _hang_up(self) -> None:
        self._gone = True
        self._tail.wake()

    def read(self) -> list[Event]:
        """What is said next, as far as it is there; [] after `keep_alive_s` of silence.

        Raises `ClientGone`.
        """
        silent_at = time.monotonic() + self._keep_alive_s
        while True:
            event = self._next(min(silent_at, self._deadline) - time.monotonic())
            if self._gone:
                raise ClientGone
            if event is not None:
                return self._burst(event)
            now = time.monotonic()
            if now >= self._deadline:
                self._done = True
                return [LOST]
            if now >= silent_at:
                return []

    def _next(self, timeout_s: float) -> Event | None:
        try:
            return self._tail.next(max(0.0, timeout_s))
        except StreamLost:
            return LOST
        except Exception as error:
            if isinstance(translate(error), StorageUnavailable):
                return None  # Redis is away: the deadline bounds the wait
            raise

    def _burst(self, event: Event) -> list[Event]:
        events = [event]
        while not isinstance(event, End) and len(events) < BURST:
            following = self._next(0)
            if following is None:
                break
            events.append(event := following)
        self._done = isinstance(event, End)
        self._ended = self._done and event is not LOST
        return events

    def collect(self) -> list[Event]:
        """All of the response, its `End` last. Raises `ClientGone`."""
        events: list[Event] = []
        while not self._done:
            events += self.read()
        return events

    def stream(self, rendering: Rendering, after: int = -1) -> Iterator[bytes]:
        """The response as server-sent events, those up to the `sequence_number` `after` left out.

        Ends quietly when the client is gone. A `sequence_number` is only looked at where some are left out.
        """
        chosen = (lambda frames: sse.after(frames, after)) if after >= 0 else list
        try:
            # an empty chunk would end an HTTP/1.1 body: where there is nothing to tell, a comment goes out
            yield sse.encode(chosen(rendering.begin())) or sse.KEEP_ALIVE
            while not self._done:
                frames = [frame for event in self.read() for frame in rendering.tell(event)]
                told = sse.encode(chosen(frames)) or sse.KEEP_ALIVE
                yield told + sse.DONE if self._done else told
        except ClientGone:
            return
        finally:
            self.close()

    def close(self) -> None:
        """End the wait, in any case and once."""
        if self._closed:
            return
        self._closed = True
        if self._unwatch is not None:
            self._unwatch()
        self._tail.close()
        try:
            if not self._ended and self._on_abandon is not None:
                self._on_abandon()
        except Exception:
            # Redis is away, perhaps: the ledger's own deadline ends what nobody reads
            logger.warning("could not cancel a response whose client is gone", exc_info=True)
        finally:
            if self._on_close is not None:
                self._on_close()
