"""A managed TGI as an engine: at most as many requests as it has slots are in the server at once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import replace
from functools import partial

import orjson

from backends.base import Finish, GenerationError
from backends.shared.chat_stream import ChatParser
from backends.shared.http_engine import (
    CACHE_USE_TIMEOUT_S,
    COMPLETIONS_PATH,
    LONGEST_BODY,
    HttpEngine,
    RunningRequest,
    ServerClient,
    ServerProtocol,
    malformed_answer,
)
from backends.shared.tgi_server import AnswerTooLong
from backends.shared.tgi_stream import TgiParser
from backends.tgi.metrics import ServerLoad, read_metrics
from engines.engine_process.process import EngineProcess
from fleet.flush import FlushCount
from generation.generation import Generation
from http_client.client import HttpError

METRICS_PATH = "/metrics"
CHAT_COUNT_PATH, COUNT_PATH = "/chat_tokenize", "/tokenize"
COUNT_TIMEOUT_S = 0.5  # to count the tokens of a cancelled request's prompt


class TgiEngine(HttpEngine):
    """Fulfils `Engine`. `load` is what the server last said of itself, at a call of `cache_use`."""

    def __init__(  # noqa: PLR0913, PLR0917 - what the adapter knows of the server
        self,
        process: EngineProcess,
        client: ServerClient,
        protocol: ServerProtocol,
        slots: int,
        context: int,
        cache_tokens: int | None = None,
    ) -> None:
        super().__init__(process, client, protocol, slots, context)
        self.load = ServerLoad()
        self._cache_tokens = cache_tokens
        self._free_slots = asyncio.Semaphore(slots)  # the server's own limit is the memory of its cache

    async def flush(self, kept: Collection[str]) -> FlushCount:  # noqa: ARG002 - there is nothing to keep
        """Return a count of nothing: the server's cache of prefixes is off."""
        return FlushCount(0, 0.0)

    async def cache_use(self) -> float | None:
        """The share of the KV cache that running requests have reserved; None if its size is not known."""
        with suppress(HttpError, ValueError):
            async with self._client.request(
                "GET", METRICS_PATH, read_timeout_s=CACHE_USE_TIMEOUT_S
            ) as response:
                if response.status == 200:
                    self.load = read_metrics(await response.read(LONGEST_BODY))
        return self.load.cache_use(self._cache_tokens)

    def _parser_class(self, generation: Generation) -> Callable[..., ChatParser]:
        return partial(TgiParser, stop=generation.sampling.stop)

    async def _answer(self, running: RunningRequest) -> Finish:
        if running.generation.count_only:
            return await super()._answer(running)
        async with self._free_slots:
            try:
                finish = await self._answer_within_context(running)
            except GenerationError as error:
                raise await self._cause(error) from error
        if finish.usage.input_tokens:
            return finish
        return await self._with_input_tokens(finish, running.generation)  # a stop text ended it here

    async def _answer_within_context(self, running: RunningRequest) -> Finish:
        """Let the server answer. It refuses more `max_tokens` than the prompt leaves, and says how many."""
        try:
            return await super()._answer(running)
        except AnswerTooLong as error:
            sampling = replace(running.generation.sampling, max_tokens=error.room)
            running.generation = replace(running.generation, sampling=sampling)
        return await super()._answer(running)

    async def _cause(self, error: GenerationError) -> Exception:
        """Return what to raise for an error: a server whose model cannot answer any more counts as lost."""
        if error.code == "server_busy":
            await self.cache_use()
            sentence = f"{error}: {self.load.running} run in it and {self.load.queued} wait"
            return GenerationError("server_busy", sentence)
        if error.code == "engine_error" and not await asyncio.to_thread(is_healthy, self._client):
            self._process.kill()
            return await asyncio.to_thread(self._process.lost)
        return error

    async def _cancelled(self, running: RunningRequest) -> Finish:
        finish = await super()._cancelled(running)
        # the server reports the usage only at the end, which a cancelled request does not reach
        if finish.reason == "cancelled" and not finish.usage.input_tokens:
            return await self._with_input_tokens(finish, running.generation)
        return finish

    async def _with_input_tokens(self, finish: Finish, generation: Generation) -> Finish:
        """Return the end of an answer with the tokens of its prompt; 0 if the server does not count them."""
        with suppress(GenerationError, HttpError, TimeoutError):
            async with asyncio.timeout(COUNT_TIMEOUT_S):
                counted = await self.count_tokens(generation)
            return replace(finish, usage=replace(finish.usage, input_tokens=counted))
        return finish

    async def count_tokens(self, generation: Generation) -> int:
        """Count the tokens of the rendered prompt. Raises `GenerationError` and `HttpError`."""
        body = self._protocol.body(generation)
        path = CHAT_COUNT_PATH
        if self._path(generation) == COMPLETIONS_PATH:
            path, body = COUNT_PATH, orjson.dumps({"inputs": orjson.loads(body)["prompt"]})
        answer = await self._post_json(path, body, generation)
        try:
            return len(answer if path == COUNT_PATH else answer["tokenize_response"])
        except (LookupError, TypeError) as error:
            raise malformed_answer() from error


def is_healthy(client: ServerClient) -> bool:
    """Whether the server's model answers: `/health` lets it do so after an error."""
    try:
        return client.get("/health")[0] == 200
    except HttpError:
        return False
