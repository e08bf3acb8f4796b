"""An engine that is a managed server on the loopback interface, used through OpenAI's chat completions API.

Each generation is one streamed POST on a connection of its own (llama-server closes it after a stream).
Closing the connection early cancels the generation. Requests are always streamed, since only then does a
server notice the closed connection at once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import orjson
from urllib3 import BaseHTTPResponse
from urllib3.exceptions import HTTPError

from backends.base import Emit, Finish, GenerationError
from backends.shared.chat_stream import ChatParser, engine_failed, events
from backends.shared.http_client import LOOPBACK, CallCancelled, HttpCall, HttpClient, chunks
from tasks.generation import Generation
from workers.engine_process.errors import EngineError
from workers.engine_process.process import EXIT_WAIT_S, EngineProcess

PATH = "/v1/chat/completions"
TIMEOUT_S = 10.0  # to connect, and for requests that are answered at once


class LoopbackClient:
    """HTTP client for a managed server on the loopback interface, which requires a `key`."""

    def __init__(self, port: int, key: str) -> None:
        self.port = port
        self.key = key
        self._client = HttpClient(f"http://{LOOPBACK}:{port}", connect_timeout_s=TIMEOUT_S)

    def post(self, call: HttpCall, path: str, body: bytes) -> BaseHTTPResponse:
        """POST JSON with the key; the caller closes the response. Raises `HTTPError` or `CallCancelled`."""
        return self._client.request(call, "POST", path, body, headers=self._authorization)

    def get(self, path: str, *, with_key: bool = True) -> tuple[int, Any]:
        """GET within seconds: return the status and the JSON body (None if empty). Raises `HTTPError`."""
        headers = self._authorization if with_key else None
        response = self._client.request(HttpCall(TIMEOUT_S), "GET", path, headers=headers)
        try:
            body = response.read()
            return response.status, orjson.loads(body) if body else None
        except orjson.JSONDecodeError as error:
            raise HTTPError("not JSON") from error
        finally:
            response.close()

    @property
    def _authorization(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.key}"}


@dataclass(frozen=True)
class ServerProtocol:
    """How one kind of server differs from others.

    `body` makes the body of a request, `error` reads a response other than 200 (status, body), and
    `stream_error` reads an error event in the middle of a stream.
    """

    body: Callable[[Generation], bytes]
    error: Callable[[int, bytes], GenerationError]
    stream_error: Callable[[Any], GenerationError] = engine_failed


class HttpEngine:
    """Fulfils `Engine`. `context` is how many tokens one request may have, prompt and answer together."""

    def __init__(
        self,
        process: EngineProcess,
        client: LoopbackClient,
        protocol: ServerProtocol,
        slots: int,
        context: int,
    ) -> None:
        self.slots = slots
        self.context = context
        self.pid = process.pid
        self._process = process
        self._client = client
        self._protocol = protocol
        self._calls: dict[str, HttpCall] = {}

    def generate(self, id: str, generation: Generation, emit: Emit) -> Finish:
        """See `Engine.generate`."""
        body = self._protocol.body(generation)
        call = self._calls[id] = HttpCall()
        parser = ChatParser(emit, self._protocol.stream_error)
        try:
            self._stream(call, body, parser)
        except (HTTPError, CallCancelled) as error:
            if not call.cancelled:
                raise self._lost() from error
        finally:
            del self._calls[id]
        if parser.reason is not None:
            return Finish(parser.reason, parser.usage)
        if call.cancelled:
            return Finish("cancelled", parser.usage)
        raise self._lost()

    def cancel(self, id: str) -> None:
        """See `Engine.cancel`."""
        call = self._calls.get(id)
        if call is not None:
            call.cancel()

    def stop(self, timeout_s: float) -> None:
        """See `Engine.stop`."""
        self._process.stop(timeout_s)

    def _stream(self, call: HttpCall, body: bytes, parser: ChatParser) -> None:
        response = self._client.post(call, PATH, body)
        try:
            if response.status != 200:
                raise self._protocol.error(response.status, response.read())
            for data in events(chunks(response)):
                parser.take(data)
        finally:
            response.close()

    def _lost(self) -> EngineError:
        """Return the error for a lost connection: the end of the engine, or of this generation alone."""
        if self._process.wait(EXIT_WAIT_S) is not None:
            return self._process.lost()
        return GenerationError("engine_error", "the engine closed the connection in the middle of its answer")
