"""An engine that is spoken to over HTTP on the loopback interface, as OpenAI's chat completions.

Each generation is one streamed POST on a connection of its own (llama-server closes it after a stream, so
there is none to keep). Closing it early is how a generation is cancelled: always streamed, for only then
does a server notice at once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException, HTTPResponse
from typing import Any

import orjson

from backends.base import Emit, Finish, GenerationError
from backends.shared.call import Call
from backends.shared.chat_stream import ChatStream, events, failed
from tasks.generation import Generation
from workers.engine_process.errors import EngineError
from workers.engine_process.process import EXIT_WAIT_S, EngineProcess

LOOPBACK = "127.0.0.1"
PATH = "/v1/chat/completions"
TIMEOUT_S = 10.0  # to connect, and for what is answered at once
READ_BYTES = 1 << 16


@dataclass(frozen=True)
class Address:
    """Where a server listens on the loopback interface, and the key it wants."""

    port: int
    key: str

    def connect(self) -> HTTPConnection:
        """A new connection, Nagle's algorithm off, without a timeout for reads. Raises `OSError`."""
        connection = HTTPConnection(LOOPBACK, self.port, timeout=TIMEOUT_S)
        connection.connect()
        connection.auto_open = 0  # one that was cut stays cut
        connection.sock.settimeout(None)
        return connection

    def post(self, connection: HTTPConnection, path: str, body: bytes) -> HTTPResponse:
        """POST JSON with the key. Raises `OSError` or `HTTPException`."""
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {self.key}"}
        connection.request("POST", path, body, headers)
        return connection.getresponse()

    def get(self, path: str, key: str | None) -> tuple[int, Any]:
        """GET within seconds: the status and the JSON body. Raises `OSError` or `HTTPException`."""
        connection = HTTPConnection(LOOPBACK, self.port, timeout=TIMEOUT_S)
        try:
            connection.request("GET", path, headers={} if key is None else {"Authorization": f"Bearer {key}"})
            response = connection.getresponse()
            body = response.read()
            return response.status, orjson.loads(body) if body else None
        except orjson.JSONDecodeError as error:
            raise HTTPException("not JSON") from error
        finally:
            connection.close()


@dataclass(frozen=True)
class Manners:
    """What one kind of server wants: a request's body, and what its refusal (status, body) means.

    `failure` reads an error that it tells in the middle of its answer.
    """

    body: Callable[[Generation], bytes]
    refusal: Callable[[int, bytes], GenerationError]
    failure: Callable[[Any], GenerationError] = failed


class HttpEngine:
    """Fulfils `Engine`. `context` is how many tokens one request may have, prompt and answer together."""

    def __init__(
        self, process: EngineProcess, address: Address, manners: Manners, slots: int, context: int
    ) -> None:
        self.slots = slots
        self.context = context
        self.pid = process.pid
        self._process = process
        self._address = address
        self._manners = manners
        self._calls: dict[str, Call] = {}

    def generate(self, id: str, generation: Generation, emit: Emit) -> Finish:
        """See `Engine.generate`."""
        body = self._manners.body(generation)
        call = self._calls[id] = Call()
        stream = ChatStream(emit, self._manners.failure)
        try:
            self._answer(call, body, stream)
        except (OSError, HTTPException) as error:
            if not call.cancelled:
                raise self._lost() from error
        finally:
            del self._calls[id]
        if stream.reason is not None:
            return Finish(stream.reason, stream.usage)
        if call.cancelled:
            return Finish("cancelled", stream.usage)
        raise self._lost()

    def cancel(self, id: str) -> None:
        """See `Engine.cancel`."""
        call = self._calls.get(id)
        if call is not None:
            call.cancel()

    def stop(self, timeout_s: float) -> None:
        """See `Engine.stop`."""
        self._process.stop(timeout_s)

    def _answer(self, call: Call, body: bytes, stream: ChatStream) -> None:
        connection = self._address.connect()
        try:
            call.attach(connection.sock)
            response = self._address.post(connection, PATH, body)
            if response.status != 200:
                raise self._manners.refusal(response.status, response.read())
            for data in events(iter(lambda: response.read1(READ_BYTES), b"")):
                stream.take(data)
        finally:
            connection.close()

    def _lost(self) -> EngineError:
        """The error for a connection that broke: the engine's end, or (it lives on) this generation's."""
        if self._process.wait(EXIT_WAIT_S) is not None:
            return self._process.lost()
        return GenerationError("engine_error", "the engine closed the connection in the middle of its answer")
