"""An engine that is a managed server, used through OpenAI's chat completions API.

Each generation is one streamed POST. Closing its connection early cancels the generation. Requests are always
streamed, since only then does a server notice the closed connection at once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from contextlib import closing, suppress
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from typing import Any

import orjson

from backends.base import NO_FACTS, Finish, GenerationError, Sink
from backends.shared.answer_reader import AnswerReader
from backends.shared.chat_stream import ChatParser, engine_failed
from backends.shared.generation_tasks import RunningGeneration, TaskEngine
from backends.shared.server_address import ServerAddress
from engines.engine_process.errors import EngineError, Exit
from engines.engine_process.process import EXIT_WAIT_S, EngineProcess
from generation.generation import Generation, TextTask
from http_client.client import HttpClient, HttpError
from http_client.url import bracketed
from streams.events import Delta, Usage

PATH = "/v1/chat/completions"
COMPLETIONS_PATH = "/v1/completions"
"""For generations with a prompt instead of messages."""
TIMEOUT_S = 10.0  # to connect, and for requests that are answered at once
LONGEST_BODY = 1 << 20  # bytes read of an answer that is no stream
CACHE_USE_TIMEOUT_S = 1.0
COUNT_TIMEOUT_S = 60.0  # a server may tokenize long prompts, one after the other
LONGEST_JSON = 64 << 20  # bytes of an answer with the tokens of a prompt, or with vectors


def malformed_answer() -> GenerationError:
    """Return the error for an answer that is not in the expected form."""
    return GenerationError("engine_error", "the engine sent an answer that cannot be read")


class ServerClient(HttpClient):
    """HTTP client for a managed server, which requires the key of its `address`."""

    def __init__(self, address: ServerAddress) -> None:
        self.host = address.own_host
        self.port = address.port
        self.key = address.key
        headers = {"authorization": f"Bearer {self.key}"}
        super().__init__(
            f"http://{bracketed(self.host)}:{self.port}", headers=headers, connect_timeout_s=TIMEOUT_S
        )

    def get(self, path: str, *, with_key: bool = True) -> tuple[int, Any]:
        """GET within seconds, in the calling thread and on a connection of its own.

        Returns the status and the JSON body (None if empty). Raises `HttpError`.
        """
        return self._call("GET", path, None, with_key=with_key)

    def read(self, path: str) -> tuple[int, bytes]:
        """GET as `get` does. Returns the status and the body as it is. Raises `HttpError`."""
        return self._exchange("GET", path, None, with_key=True)

    def post(self, path: str, body: bytes, *, with_key: bool = True) -> tuple[int, Any]:
        """POST a JSON body, as `get` does."""
        return self._call("POST", path, body, with_key=with_key)

    def _call(self, method: str, path: str, body: bytes | None, *, with_key: bool) -> tuple[int, Any]:
        status, answer = self._exchange(method, path, body, with_key=with_key)
        try:
            return status, orjson.loads(answer) if answer else None
        except orjson.JSONDecodeError as error:
            raise HttpError(error) from error

    def _exchange(self, method: str, path: str, body: bytes | None, *, with_key: bool) -> tuple[int, bytes]:
        headers = {"Authorization": f"Bearer {self.key}"} if with_key else {}
        if body is not None:
            headers["Content-Type"] = "application/json"
        with closing(HTTPConnection(self.host, self.port, timeout=TIMEOUT_S)) as connection:
            try:
                connection.request(method, path, body, headers)
                response = connection.getresponse()
                return response.status, response.read()
            except (OSError, HTTPException) as error:
                raise HttpError(error) from error


@dataclass(frozen=True)
class ServerProtocol:
    """How one kind of server differs from others.

    `body` makes the body of a request, `error` reads a response other than 200 (status, body, the
    generation), and
    `stream_error` reads an error event in the middle of a stream. The answer of the server at `cache_path`
    has the use of its KV cache, which `cache_use` reads (see `HasFacts`; it may raise any error). With
    `text_lags` stop strings make it send text later than the log probabilities of its tokens.
    """

    body: Callable[[Generation], bytes]
    error: Callable[[int, bytes, Generation], GenerationError]
    stream_error: Callable[[Any], GenerationError] = engine_failed
    cache_path: str = ""
    cache_use: Callable[[bytes], float | None] = lambda _: None
    text_lags: bool = False


class RunningRequest(RunningGeneration):
    """A generation and the parser of its answer."""

    parser: ChatParser | None = None
    reader: AnswerReader | None = None
    """Reads the deltas of the parser, for an answer whose text has more than text."""
    tokens: int = 0
    """The input tokens of the vectors that were made."""


class HttpEngine(TaskEngine[RunningRequest]):
    """Fulfils `Engine`. `context` is how many tokens one request may have, prompt and answer together."""

    def __init__(
        self,
        process: EngineProcess,
        client: ServerClient,
        protocol: ServerProtocol,
        slots: int,
        context: int,
    ) -> None:
        super().__init__()
        self.facts = NO_FACTS  # the adapter sets them
        self._cache_use: float | None = None
        self.slots = slots
        self.context = context
        self.pid = process.pid
        self._process = process
        self._client = client
        self._protocol = protocol
        self._exit: asyncio.Future[Exit | None] | None = None  # set while lost generations wait for it

    def stop(self, timeout_s: float) -> None:
        """End the server, wait for it, and close its connections. Idempotent."""
        self._process.stop(timeout_s)
        self._client.close()

    async def cache_use(self) -> float | None:
        """The share of the KV cache in use, 0 to 1; the last value while the server does not answer."""
        path = self._protocol.cache_path
        if path:
            with suppress(Exception):  # whatever a server sends that is of another version
                async with self._client.request("GET", path, read_timeout_s=CACHE_USE_TIMEOUT_S) as response:
                    if response.status == 200:
                        self._cache_use = self._protocol.cache_use(await response.read(LONGEST_BODY))
        return self._cache_use

    def _new(self, id: str, generation: Generation, sink: Sink) -> RunningRequest:
        return RunningRequest(id, generation, sink)

    async def _answer(self, running: RunningRequest) -> Finish:
        emit = running.sink.delta if running.reader is None else running.reader.read
        if running.generation.text_task is not None:
            try:
                result = await self._text_result(running.generation, running.generation.text_task)
            except HttpError as error:
                raise await self._lost() from error
            for delta in result:
                running.sink.delta(delta)
            return Finish("stop", Usage())
        if running.generation.count_only:
            return await self._counted(running.generation)
        sampling = running.generation.sampling
        parser = running.parser = self._parser_class(running.generation)(
            emit,
            self._protocol.stream_error,
            alternatives=sampling.top_logprobs or 0,
            text_lags=self._protocol.text_lags and bool(sampling.stop),
            reports_progress=running.generation.reports_progress,
        )
        try:
            await self._stream(running.generation, parser)
        except HttpError as error:
            raise await self._lost() from error
        if parser.reason is None:
            raise await self._lost()
        if (reader := running.reader) is not None:
            reader.finish()
            if reader.has_calls and parser.reason == "stop":
                return Finish("tool_calls", parser.usage)
        named = parser.stop_sequence in running.generation.sampling.stop
        return Finish(parser.reason, parser.usage, parser.stop_sequence if named else None)

    def _parser_class(self, _generation: Generation) -> Callable[..., ChatParser]:
        """What makes the parser of an answer: a class, or a function with its parameters."""
        return ChatParser

    def _path(self, generation: Generation) -> str:
        """The path that a generation is sent to."""
        return PATH if generation.prompt is None else COMPLETIONS_PATH

    async def _cancelled(self, running: RunningRequest) -> Finish:
        parser = running.parser or ChatParser(running.sink.delta)
        return Finish(parser.reason or "cancelled", parser.usage)

    async def _counted(self, generation: Generation) -> Finish:
        """Return the end of a generation whose tokens are only counted."""
        try:
            tokens = await self.count_tokens(generation)
        except HttpError as error:
            raise await self._lost() from error
        if tokens >= self.context:
            sentence = f"the prompt has {tokens} tokens; {self.context - 1} fit"
            raise GenerationError("context_length_exceeded", sentence)
        return Finish("stop", Usage(tokens))

    async def _text_result(self, generation: Generation, task: TextTask) -> Iterable[Delta]:
        """Do a text task. Raises `GenerationError` and `HttpError`."""
        raise NotImplementedError

    async def count_tokens(self, generation: Generation) -> int:
        """Count the tokens of the rendered prompt. Raises `GenerationError` and `HttpError`."""
        raise NotImplementedError

    async def _post_json(
        self, path: str, body: bytes, generation: Generation, timeout_s: float | None = COUNT_TIMEOUT_S
    ) -> Any:
        """POST a request that is not streamed, and return the answer's JSON; `timeout_s` None waits."""
        answer = await self._post_bytes(path, body, generation, timeout_s)
        try:
            return orjson.loads(answer)
        except orjson.JSONDecodeError as error:
            raise malformed_answer() from error

    async def _post_bytes(
        self,
        path: str,
        body: bytes,
        generation: Generation,
        timeout_s: float | None = COUNT_TIMEOUT_S,
        limit: int = LONGEST_JSON,
    ) -> bytes:
        """The same, with the first `limit` bytes of the answer."""
        async with self._client.request("POST", path, body, read_timeout_s=timeout_s) as response:
            answer = await response.read(limit)
            if response.status != 200:
                raise self._protocol.error(response.status, answer, generation)
        return answer

    async def _stream(self, generation: Generation, parser: ChatParser) -> None:
        await self._post(self._protocol.body(generation), generation, parser)

    async def _post(
        self,
        body: bytes,
        generation: Generation,
        parser: ChatParser,
        on_head: Callable[[], None] = lambda: None,
    ) -> None:
        """Send the body of a request and pass the answer to the parser; `on_head` is called as it begins."""
        async with self._client.request("POST", self._path(generation), body) as response:
            on_head()
            if response.status != 200:
                answer = await response.read(LONGEST_BODY)
                raise self._protocol.error(response.status, answer, generation)
            while not parser.stopped and (piece := await response.read_some()):
                parser.feed(piece)

    async def _lost(self) -> EngineError:
        """Return the error for a lost connection: the end of the engine, or of this generation alone."""
        if self._exit is None:
            # one thread for all generations: they are lost together, and other work needs threads as well
            loop = asyncio.get_running_loop()
            self._exit = loop.run_in_executor(None, self._process.wait, EXIT_WAIT_S)
            self._exit.add_done_callback(self._forget_exit)
        if await asyncio.shield(self._exit) is not None:
            return self._process.lost()
        return GenerationError("engine_error", "the engine closed the connection in the middle of its answer")

    def _forget_exit(self, _exit: object) -> None:
        self._exit = None
