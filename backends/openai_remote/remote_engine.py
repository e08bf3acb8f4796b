"""A model on a remote server as an engine: it has no process, only requests under way."""

from __future__ import annotations

import logging
from functools import partial

from urllib3 import BaseHTTPResponse
from urllib3.exceptions import HTTPError

from backends.base import Emit, Finish, GenerationError
from backends.openai_remote.api import RemoteApi, ResponseParser
from backends.openai_remote.arguments import RemoteOptions
from backends.openai_remote.client import LONGEST_BODY
from backends.openai_remote.errors import from_connection, from_event, from_response, reason, retry
from backends.shared.chat_stream import events
from backends.shared.http_client import CallCancelled, HttpCall, HttpClient, chunks, root_cause
from streams.events import Delta, Usage
from tasks.generation import Generation
from workers.engine_process.errors import EngineLost

BYTES_PER_TOKEN = 4
USAGE_S = 5.0  # how long the usage may follow the end of an answer

log = logging.getLogger(__name__)


class RemoteEngine:
    """Fulfils `Engine`."""

    pid = None

    def __init__(self, options: RemoteOptions, client: HttpClient, api: RemoteApi, slots: int) -> None:
        self.slots = slots
        self._options = options
        self._client = client
        self._api = api
        self._calls: dict[str, HttpCall] = {}
        self._lost: set[str] = set()
        self._stopped = False

    def generate(self, id: str, generation: Generation, emit: Emit) -> Finish:
        """See `Engine.generate`."""
        if not generation.allow_remote:  # the API checks this first, but may have another configuration
            raise GenerationError(
                "remote_not_allowed",
                "the model now runs on a remote server, which this request does not allow",
            )
        body = self._api.body(generation)
        call = self._calls[id] = HttpCall(self._options.read_timeout_s)
        request = _RemoteRequest(self._options, self._client, self._api, call, emit)
        try:
            if self._stopped:
                raise _stopped()
            finish = retry(
                self._options.retries, partial(request.send, body), lambda seconds, _: call.wait(seconds)
            )
            return Finish(finish.reason, _estimated(finish.usage, generation))
        except CallCancelled:
            if id in self._lost:
                raise _stopped() from None
            return Finish("cancelled", _estimated(request.parser.usage, generation))
        finally:
            del self._calls[id]
            self._lost.discard(id)

    def cancel(self, id: str) -> None:
        """See `Engine.cancel`."""
        call = self._calls.get(id)
        if call is not None:
            call.cancel()

    def stop(self, timeout_s: float) -> None:  # noqa: ARG002 - closing connections takes no time
        """Close all connections; the requests under way fail with `EngineLost`."""
        self._stopped = True
        for id, call in list(self._calls.items()):
            if not call.cancelled:
                self._lost.add(id)
                call.cancel()
        self._client.close()


class _RemoteRequest:
    """One generation and its attempts; `parser` belongs to the latest attempt."""

    parser: ResponseParser

    def __init__(
        self, options: RemoteOptions, client: HttpClient, api: RemoteApi, call: HttpCall, emit: Emit
    ) -> None:
        self._options = options
        self._client = client
        self._api = api
        self._call = call
        self._emit = emit
        self._has_emitted = False
        self._new_parser()

    def send(self, body: bytes) -> Finish:
        """Make one attempt. Raises `RemoteError`, `GenerationError` or `CallCancelled`."""
        self._new_parser()
        try:
            self._post(body)
        except HTTPError as error:
            if self._finish_reason is None:
                raise self._error(error) from error
        if self._finish_reason is None:
            raise self._error(HTTPError("it closed the connection"))
        return Finish(self._finish_reason, self.parser.usage)

    @property
    def _finish_reason(self) -> str | None:
        return self.parser.reason or ("stop" if self.parser.done else None)

    def _new_parser(self) -> None:
        self.parser = self._api.parser(self._emit_delta, partial(from_event, self._options))

    def _emit_delta(self, delta: Delta) -> None:
        self._has_emitted = True
        self._emit(delta)

    def _post(self, body: bytes) -> None:
        self._call.reuse_connection = False
        response = self._client.request(self._call, "POST", self._api.path, body)
        try:
            if response.status != 200 or _content_type(response) == "application/json":
                error = response.read(LONGEST_BODY)
                raise from_response(self._options, response.status, response.headers, error)
            self._call.reuse_connection = True
            self._read_events(response)
        except BaseException:
            response.close()
            raise
        self._client.finish(self._call, response)

    def _read_events(self, response: BaseHTTPResponse) -> None:
        for data in events(chunks(response)):
            self.parser.take(data)
            if self.parser.done:
                return
            if self.parser.reason is not None:  # only the usage may follow, and many servers send none
                self._call.set_read_timeout(USAGE_S)

    def _error(self, error: HTTPError) -> Exception:
        """Return the error for a connection that failed, or was lost before the answer's end."""
        if self._call.cancelled:
            return CallCancelled()
        if isinstance(root_cause(error), TimeoutError):
            log.warning("%s sent nothing for %g s", self._options.place, self._options.read_timeout_s)
            return GenerationError("engine_stalled", "the remote server sent nothing for too long")
        if not self._has_emitted:
            return from_connection(self._options, error)
        log.warning("%s broke off its answer: %s", self._options.place, reason(error))
        return GenerationError("engine_error", "the remote server broke off in the middle of its answer")


def _content_type(response: BaseHTTPResponse) -> str:
    return response.headers.get("Content-Type", "").partition(";")[0].strip().lower()


def _stopped() -> EngineLost:
    return EngineLost("engine_crashed", "the engine was stopped")


def _estimated(usage: Usage, generation: Generation) -> Usage:
    """Return the usage with an estimated prompt where the server has not counted it (yet)."""
    if usage.input_tokens:
        return usage
    size = sum(len(message.text.encode()) for message in generation.messages)
    return Usage(size // BYTES_PER_TOKEN + 1, usage.output_tokens, 0, usage.reasoning_tokens)
