"""A model on somebody else's machine, as an engine: it has no process, only requests under way."""

from __future__ import annotations

import logging
from functools import partial
from http.client import HTTPException, HTTPResponse

from backends.base import Emit, Finish, GenerationError
from backends.openai_remote.api import AnswerStream, RemoteApi
from backends.openai_remote.client import LONGEST_BODY, RemoteServer
from backends.openai_remote.connection import RemoteOptions
from backends.openai_remote.refusal import of_event, persist, reason, refusal, unreachable
from backends.shared.call import Call
from backends.shared.chat_stream import events
from streams.events import Delta, Usage
from tasks.generation import Generation
from workers.engine_process.errors import EngineLost

READ_BYTES = 1 << 16
BYTES_PER_TOKEN = 4
USAGE_S = 5.0  # how long the usage may follow the end of an answer

log = logging.getLogger(__name__)


class RemoteEngine:
    """Fulfils `Engine`."""

    pid = None

    def __init__(self, options: RemoteOptions, server: RemoteServer, api: RemoteApi, slots: int) -> None:
        self.slots = slots
        self._options = options
        self._server = server
        self._api = api
        self._calls: dict[str, Call] = {}
        self._lost: set[str] = set()
        self._stopped = False

    def generate(self, id: str, generation: Generation, emit: Emit) -> Finish:
        """See `Engine.generate`."""
        if not generation.allow_remote:  # the API, which asks first, may know another configuration
            raise GenerationError("remote_not_allowed", "the model has moved to somebody else's machine")
        body = self._api.body(generation)
        call = self._calls[id] = Call()
        answer = _Answer(self._options, self._server, self._api, call, emit)
        try:
            if self._stopped:
                raise _stopped()
            retries = self._options.retries
            finish = persist(retries, partial(answer.attempt, body), lambda seconds, _: call.pause(seconds))
            return Finish(finish.reason, _seen(finish.usage, generation))
        except ConnectionAbortedError:
            if id in self._lost:
                raise _stopped() from None
            return Finish("cancelled", _seen(answer.stream.usage, generation))
        finally:
            del self._calls[id]
            self._lost.discard(id)

    def cancel(self, id: str) -> None:
        """See `Engine.cancel`."""
        call = self._calls.get(id)
        if call is not None:
            call.cancel()

    def stop(self, timeout_s: float) -> None:  # noqa: ARG002 - nothing here takes time
        """Drop the connections: what runs is lost."""
        self._stopped = True
        for id, call in list(self._calls.items()):
            if not call.cancelled:
                self._lost.add(id)
                call.cancel()
        self._server.close()


class _Answer:
    """One generation on its way; its `stream` is that of the latest attempt."""

    stream: AnswerStream

    def __init__(
        self, options: RemoteOptions, server: RemoteServer, api: RemoteApi, call: Call, emit: Emit
    ) -> None:
        self._options = options
        self._server = server
        self._api = api
        self._call = call
        self._emit = emit
        self._spoke = False
        self._begin()

    def attempt(self, body: bytes) -> Finish:
        """Ask once. Raises `Refused`, `GenerationError`, or `ConnectionAbortedError` when it is cancelled."""
        self._begin()
        try:
            self._ask(body)
        except (OSError, HTTPException) as error:
            if self._ending is None:
                raise self._broken(error) from error
        if self._ending is None:
            raise self._broken(ConnectionError("it closed the connection"))
        return Finish(self._ending, self.stream.usage)

    @property
    def _ending(self) -> str | None:
        return self.stream.reason or ("stop" if self.stream.done else None)

    def _begin(self) -> None:
        self.stream = self._api.stream(self._say, partial(of_event, self._options))

    def _say(self, delta: Delta) -> None:
        self._spoke = True
        self._emit(delta)

    def _ask(self, body: bytes) -> None:
        connection, response = self._server.post(self._call, self._api.path, body)
        try:
            if response.status != 200 or response.headers.get_content_type() == "application/json":
                said = response.read(LONGEST_BODY)
                raise refusal(self._options, response.status, response.headers, said)
            self._hear(response)
        except BaseException:
            connection.close()
            raise
        self._server.give_back(self._call, connection, response)

    def _hear(self, response: HTTPResponse) -> None:
        for data in events(iter(lambda: response.read1(READ_BYTES), b"")):
            self.stream.take(data)
            if self.stream.done:
                return
            if self.stream.reason is not None:  # all is said, but for the usage: who says no more has ended
                self._call.hurry(USAGE_S)

    def _broken(self, error: Exception) -> Exception:
        """What it means that the connection does not come about, or breaks."""
        if self._call.cancelled:
            return ConnectionAbortedError()
        if isinstance(error, TimeoutError):
            log.warning("%s said nothing for %g s", self._options.place, self._options.read_timeout_s)
            return GenerationError("engine_stalled", "the remote server said nothing for too long")
        if not self._spoke:
            return unreachable(self._options, error)
        log.warning("%s broke off: %s", self._options.place, reason(error))
        return GenerationError("engine_error", "the remote server broke off in the middle of its answer")


def _stopped() -> EngineLost:
    return EngineLost("engine_crashed", "the engine was stopped")


def _seen(usage: Usage, generation: Generation) -> Usage:
    """What an answer used: where the server has not counted (not yet, or never), a guess at the prompt."""
    if usage.input_tokens:
        return usage
    size = sum(len(message.text.encode()) for message in generation.messages)
    return Usage(size // BYTES_PER_TOKEN + 1, usage.output_tokens, 0, usage.reasoning_tokens)
