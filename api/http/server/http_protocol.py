"""HTTP/1.1 on one connection: receives requests within the limits, and gives one answer at a time.

A request is passed on when it is complete. A connection that has no answer to give has a deadline; one that
has, must make progress. No connection has a task or a timer of its own.
"""

from __future__ import annotations

import asyncio
import math
import select
from collections import deque
from typing import TYPE_CHECKING, cast

from api.http.server import rejection
from api.http.server.body_sink import BodySink
from api.http.server.http_answer import HttpAnswer
from api.http.server.limits import MAX_AHEAD_BYTES, MAX_ANSWERS_IN_TURN
from api.http.server.read_turns import LARGE_READ_BYTES
from api.http.server.rejection import RequestRejected, answer_of
from api.http.server.request import HttpRequest
from api.http.server.request_parser import RequestParser
from store.errors import StokerError

if TYPE_CHECKING:
    from api.http.server.application import Application

CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"


class HttpProtocol(asyncio.Protocol):
    """One connection. `deadline` (the loop's time) is when `pass_deadline` has to be called."""

    __slots__ = (
        "_ahead",
        "_answer",
        "_awaits_turn",
        "_body_paused",
        "_closing",
        "_eof",
        "_is_used",
        "_key_check",
        "_loop",
        "_parser",
        "_reading_paused",
        "_refused",
        "_resume",
        "_running",
        "_sent",
        "_sent_at",
        "_transport",
        "_turn",
        "_waiting",
        "_written",
        "address",
        "app",
        "connections",
        "deadline",
        "limits",
        "port",
        "write_paused",
    )

    def __init__(self, app: Application, loop: asyncio.AbstractEventLoop) -> None:
        self.app = app
        self.connections = app.connections
        self.limits = app.connections.limits
        self.deadline = math.inf
        self.address = ""
        self.port = 0
        self.write_paused = False
        """Whether more than 64 KiB wait to be sent."""
        self._loop = loop
        self._transport: asyncio.Transport
        self._parser = RequestParser(self)
        self._answer: HttpAnswer | None = None
        """The answer that is being given."""
        self._waiting: deque[HttpRequest] = deque()
        self._refused: StokerError | None = None
        """Why what follows the waiting requests is refused."""
        self._ahead = b""
        """Bytes that came while a request was being answered."""
        self._running = False
        """Whether `_run` is on the stack."""
        self._turn = 0
        """Answers begun since other connections had their turn."""
        self._resume: asyncio.Handle | None = None
        """The call of `_begin_turn` that is to come."""
        self._is_used = False
        """Whether a request was received: the first head's time begins at the connect."""
        self._eof = False
        self._closing = False
        self._reading_paused = False
        """Whether too many bytes have come ahead."""
        self._awaits_turn = False
        """Whether reading goes on when it is this connection's turn."""
        self._body_paused = False
        """Whether the sink of a body has enough for now, or the key of a large one is checked."""
        self._key_check: asyncio.Task[None] | None = None
        self._written = 0
        self._sent = -1
        self._sent_at = 0.0

    @property
    def is_busy(self) -> bool:
        """Whether the next request has to wait."""
        return (
            self._answer is not None
            or bool(self._waiting)
            or self.write_paused
            or self._closing
            or self._turn >= MAX_ANSWERS_IN_TURN
        )

    # called by the transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin to wait for a request, if there is room for one more connection."""
        self._transport = cast(asyncio.Transport, transport)
        peer = transport.get_extra_info("peername")
        if isinstance(peer, tuple) and len(peer) >= 2:
            self.address, self.port = peer[0], peer[1]
        now = self._loop.time()
        if not self.connections.add(self, now):
            self._closing = True
            self._transport.abort()
            return
        self.deadline = now + self.limits.head_timeout_s

    def data_received(self, data: bytes) -> None:
        """Parse, or keep the bytes while a request is being answered."""
        if len(data) >= LARGE_READ_BYTES and not self._awaits_turn:
            self._awaits_turn = True
            self._transport.pause_reading()
            tenant = self._parser.request.tenant if self._parser.request is not None else None
            self.connections.read_turns.wait(self._loop, tenant, self._take_turn)
        if self._closing or self._parser.is_at_end:
            return
        self._ahead = self._ahead + data if self._ahead else data
        if not self.is_busy:
            self._run()
        if len(self._ahead) > MAX_AHEAD_BYTES and not self._reading_paused and not self._closing:
            self._reading_paused = True
            self._transport.pause_reading()

    def _take_turn(self) -> None:
        self._awaits_turn = False
        self._read_on()

    def _read_on(self) -> None:
        """Read again, unless something holds it up."""
        held_up = self._reading_paused or self._awaits_turn or self._body_paused
        if not held_up and not self._transport.is_closing():
            self._transport.resume_reading()

    def eof_received(self) -> bool:
        """The client closed its side. A plain answer is still given; a detached one has lost its client."""
        self._eof = True
        if self._closing:
            return False
        return self._resume is not None if self._answer is None else not self._answer.detached

    def connection_lost(self, _error: Exception | None) -> None:
        """Forget the connection, and tell the answer."""
        self._forget()

    def pause_writing(self) -> None:
        """The client does not keep up."""
        self.write_paused = True

    def resume_writing(self) -> None:
        """The client has caught up."""
        self.write_paused = False
        if self._answer is not None:
            self._answer.resume()
        else:
            self._run()

    # called by the parser

    def begin_head(self) -> None:
        """A head begins to arrive."""
        if self._is_used and not self.is_busy:
            self.deadline = self._loop.time() + self.limits.head_timeout_s

    def begin_body(self, request: HttpRequest) -> None:
        """A body begins to arrive."""
        request.body_began = now = self._loop.time()
        if not self.is_busy:
            self.deadline = self._first_check(now)
            if request.sink is None and not request.asked_for_key:
                self._ask_for_body(request)

    def _ask_for_body(self, request: HttpRequest) -> None:
        if request.expects_continue() and not self.is_busy:
            self.write(CONTINUE)

    def open_sink(self, request: HttpRequest) -> BodySink | None:
        """Return a sink for the body whose head is complete, or None. Raises `RequestRejected`."""
        return None if self.is_busy else self.app.gate.open_sink(request, self.address, self)

    def check_key(self, request: HttpRequest) -> None:
        """Check the key or the session of a request whose body is large. Raises `RequestRejected`.

        The rest of the body waits while this process looks the session up, or asks whether an unknown key is
        new.
        """
        gate = self.app.gate
        if not request.asked_for_key and (gate.has_session_alone(request) or gate.has_unknown_key(request)):
            request.asked_for_key = True
            self.pause_body()
            self._key_check = self._loop.create_task(self._check_key_later(request))
        else:
            self.app.gate.check_key(request, self.address)

    async def _check_key_later(self, request: HttpRequest) -> None:
        refused: RequestRejected | None = None
        try:
            if self.app.gate.has_session_alone(request):
                await self.app.gate.check_session(request)
            else:
                await self.app.gate.follow_keys()
                self.app.gate.check_key(request, self.address)
        except RequestRejected as rejected:
            refused = rejected
        if self._closing or self._transport.is_closing():
            return
        if self._parser.request is request:  # else its body has arrived: it is checked with the rest
            if refused is not None:
                self.refuse_body(refused.error)
                return
            if not request.size:
                self._ask_for_body(request)
        self.resume_body()

    def accept(self, request: HttpRequest) -> None:
        """A request is complete: answer it, after those before it."""
        self._is_used = True
        if self.is_busy:
            self._waiting.append(request)
        else:
            self._begin_answer(request)

    # called by a body's sink

    def pause_body(self) -> None:
        """Read nothing more of the body until `resume_body`."""
        self._body_paused = True
        self._transport.pause_reading()

    def resume_body(self) -> None:
        """Continue to read the body, and send `100 Continue` to a client that waits for it."""
        self._body_paused = False
        request = self._parser.request
        begins = request is not None and request.sink is not None and not request.size
        if begins and not self._closing and cast(HttpRequest, request).expects_continue():
            self.write(CONTINUE)
        self._read_on()

    def refuse_body(self, error: StokerError) -> None:
        """Answer with an error before the body is complete, and close the connection."""
        self._refuse(error)

    # called by the answer

    def write(self, data: bytes) -> None:
        """Write to the client."""
        self._written += len(data)
        self._transport.write(data)

    def record_end(self, request: HttpRequest, answer: HttpAnswer) -> None:
        """The answer has ended, or lost its client."""
        self.connections.access_log.add(request, answer, self.address)
        ids = answer.ids
        if ids.span is not None and self.connections.tracing is not None:
            route = f"{request.method} {ids.route}" if ids.route else None
            attributes = {
                "http.route": ids.route,
                "client.address": self.address,
                "stoker.tenant": ids.tenant,
                "stoker.request_id": ids.request_id,
                "stoker.response_id": ids.response_id,
                "gen_ai.request.model": ids.model,
                "stoker.disconnected": answer.gone or None,
            }
            self.connections.tracing.end_request(ids.span, answer.status, route, attributes)

    def complete_answer(self, keep_alive: bool) -> None:
        """The answer is complete: go on with the next request, or close."""
        self._answer = None
        if keep_alive:
            self._run()
        else:
            self._close()

    def detach(self) -> None:
        """The event loop gives the answer: it has lost its client if that has closed its side."""
        if self._eof:
            self.abort()

    def abort(self) -> None:
        """Close at once; what was not sent is lost."""
        self._closing = True
        self._transport.abort()
        self._forget()

    # called by `Connections`

    def pass_deadline(self, now: float) -> None:
        """The deadline is over: refuse a request that is incomplete, close an idle connection."""
        request = self._parser.request
        if self._closing or request is None:
            self.abort()
        elif not request.head_complete:
            self._refuse(rejection.too_slow("head").error)
        else:
            waited_s = now - request.body_began
            too_slow = (
                waited_s >= self.limits.rate_grace_s and request.size < waited_s * self.limits.min_body_rate
            )
            timeout_s = self.limits.body_timeout_s if request.sink is None else request.sink.timeout_s
            if too_slow or waited_s >= timeout_s:
                self._refuse(rejection.too_slow("body").error)
            else:
                self.deadline = min(now + 1.0, request.body_began + timeout_s)

    @property
    def unsent(self) -> int:
        """How many bytes wait to be sent."""
        return self._transport.get_write_buffer_size()

    @property
    def unanswered(self) -> int:
        """How many bytes of heads, and of requests behind the one that is answered, are in memory."""
        request = self._parser.request
        return len(self._ahead) + (request.head_bytes if request is not None else 0)

    def check_progress(self, now: float) -> None:
        """Abort if unsent bytes make no progress for `write_timeout_s`, or after an unseen hang-up."""
        unsent = self._transport.get_write_buffer_size()
        if not unsent:
            self._sent = -1
        elif (sent := self._written - unsent) != self._sent:
            self._sent, self._sent_at = sent, now
        elif now - self._sent_at >= self.limits.write_timeout_s:
            self.connections.refusals.add("clients that do not read")
            self.abort()
        if (
            self._reading_paused
            and self._answer is not None
            and self._answer.detached
            and self._has_hung_up()
        ):
            self.abort()

    def close_if_idle(self) -> None:
        """Close if no request has begun."""
        if self._parser.request is None and not self.is_busy:
            self._close()

    # private

    def _run(self) -> None:
        """Go on with what has arrived, until an answer is under way or there is nothing more."""
        if self._running or self._resume is not None:
            return
        self._running = True
        try:
            while self._answer is None and not self._closing and not self.write_paused:
                if self._turn >= MAX_ANSWERS_IN_TURN:
                    self._resume = self._loop.call_soon(self._begin_turn)
                    return
                if self._waiting:
                    self._begin_answer(self._waiting.popleft())
                elif self._refused is not None:
                    self._refuse(self._refused)
                elif self._ahead:
                    self._parse()
                elif self._eof or (self.connections.draining and self._parser.request is None):
                    self._close()
                else:
                    self._wait_for_request()
                    return
        finally:
            self._running = False

    def _begin_turn(self) -> None:
        self._turn, self._resume = 0, None
        self._run()

    def _parse(self) -> None:
        data, self._ahead = self._ahead, b""
        try:
            self._ahead = self._parser.feed(data)
        except RequestRejected as refused:
            self._refuse(refused.error)

    def _begin_answer(self, request: HttpRequest) -> None:
        self._turn += 1
        self.deadline = math.inf
        self.connections.set_complete(self)
        request.wsgi["REMOTE_ADDR"], request.wsgi["REMOTE_PORT"] = self.address, str(self.port)
        self._answer = answer = HttpAnswer(self, request)
        self.app.handle(request, answer)

    def _wait_for_request(self) -> None:
        if self._reading_paused:
            self._reading_paused = False
            self._read_on()
        self._turn = 0
        if self.deadline < math.inf:
            return  # it waits already
        now, request = self._loop.time(), self._parser.request
        self.connections.set_incomplete(self, now)
        if request is None:
            self.deadline = now + self.limits.idle_timeout_s
        elif not request.head_complete:
            self.deadline = now + self.limits.head_timeout_s
        else:
            request.body_began = now
            self.deadline = self._first_check(now)
            if request.expects_continue() and not request.size:
                self.write(CONTINUE)

    def _first_check(self, now: float) -> float:
        return now + min(self.limits.rate_grace_s, self.limits.body_timeout_s)

    def _refuse(self, error: StokerError) -> None:
        """Answer with an error, and close once its sender has had time to read it."""
        if self._closing:
            return
        if self.is_busy:
            self._refused, self._parser.is_at_end = error, True
            return
        self._closing = True
        self.connections.refusals.add(error.code)
        request = self._parser.request or HttpRequest()
        self._drop_requests()
        answer = HttpAnswer(self, request)
        answer.ids.tenant = request.tenant
        answer.refuse(*answer_of(error, answer.ids.request_id, request.path, request.tenant))
        self._transport.write_eof()
        self.deadline = self._loop.time() + self.limits.linger_s

    def _close(self) -> None:
        """Close after what was written has been sent."""
        self._closing = True
        self.deadline = math.inf
        self._transport.close()

    def _forget(self) -> None:
        self._closing = True
        if self._resume is not None:
            self._resume.cancel()
            self._resume = None
        self.deadline = math.inf
        self.connections.discard(self)
        self._drop_requests()
        answer, self._answer = self._answer, None
        if answer is not None:
            answer.lose_client()

    def _drop_requests(self) -> None:
        for request in (self._parser.request, *self._waiting):
            if request is not None:
                self.connections.release_body(request)
        self._parser.request = None
        self._waiting.clear()
        self._ahead = b""

    def _has_hung_up(self) -> bool:
        """Whether the client hung up: the transport does not notice while reading is paused."""
        if not hasattr(select, "POLLRDHUP"):
            return False  # not Linux: the next write finds out
        poll = select.poll()
        poll.register(self._transport.get_extra_info("socket").fileno(), select.POLLRDHUP)
        return bool(poll.poll(0))
