"""A model on a remote server as an engine: it has no process, only requests under way."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection
from contextlib import suppress
from dataclasses import replace
from functools import partial

from backends.base import Finish, GenerationError, Sink
from backends.openai_remote.api import RemoteApi, ResponseParser
from backends.openai_remote.client import LONGEST_BODY
from backends.openai_remote.errors import (
    RemoteError,
    from_connection,
    from_event,
    from_response,
    reason,
    retry,
)
from backends.shared.generation_tasks import RunningGeneration, TaskEngine
from engines.engine_process.errors import EngineLost
from fleet.flush import FlushCount
from generation.generation import Generation
from http_client.client import HttpClient, HttpError, HttpResponse, ReadTimeout
from streams.events import Delta, Usage

BYTES_PER_TOKEN = 4
USAGE_S = 5.0  # how long the usage may follow the end of an answer

CACHE_NOTE = (
    "the cache belongs to the remote server; no later request can reach what it keeps of earlier ones"
)

log = logging.getLogger(__name__)


class _RemoteGeneration(RunningGeneration):
    """A generation and its attempts; `parser` belongs to the latest attempt."""

    def __init__(self, id: str, generation: Generation, sink: Sink, api: RemoteApi) -> None:
        super().__init__(id, generation, sink)
        self.has_output = False
        self.lost = False
        """Whether it ended because the engine was stopped."""
        self.parser: ResponseParser
        self._api = api
        self.new_parser()

    def new_parser(self) -> None:
        """Begin another attempt."""
        self.parser = self._api.parser(self.generation, self._delta, partial(from_event, self._api.options))

    @property
    def finish_reason(self) -> str | None:
        """The finish reason, None before the end of the answer."""
        return self.parser.reason or ("stop" if self.parser.done else None)

    def finish(self, reason: str) -> Finish:
        """Return the end of the generation."""
        usage = _estimated(self.parser.usage, self.generation)
        if usage.cached_tokens and not self._api.separates_caches:
            usage = replace(usage, cached_tokens=0)
        ended_by = None if self._api.tgi is None else self.parser.stop_sequence
        return Finish(reason, usage, ended_by)

    def _delta(self, delta: Delta) -> None:
        self.has_output = True
        self.sink.delta(delta)


class RemoteEngine(TaskEngine[_RemoteGeneration]):
    """Fulfils `Engine`. `context` is known of a server of text-generation-inference only."""

    pid = None

    def __init__(
        self, loop: asyncio.AbstractEventLoop, client: HttpClient, api: RemoteApi, slots: int
    ) -> None:
        super().__init__()
        self.slots = slots
        self.context = None if api.tgi is None else api.tgi.context
        self._options = api.options
        self._client = client
        self._api = api
        self._loop = loop
        self._stopped = False

    def stop(self, timeout_s: float) -> None:  # noqa: ARG002 - closing connections takes no time
        """Close all connections; the requests under way fail with `EngineLost`."""
        self._stopped = True
        with suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(self._lose_all)
        self._client.close()

    async def flush(self, kept: Collection[str]) -> FlushCount:  # noqa: ARG002 - the server is another operator's
        """Drop nothing: the cache is the server's, and no request names the old namespaces any more."""
        return FlushCount(reason=CACHE_NOTE)

    def _lose_all(self) -> None:
        for running in list(self._running.values()):
            if not running.cancelled:
                running.lost = True
                self.cancel(running.id)

    def _new(self, id: str, generation: Generation, sink: Sink) -> _RemoteGeneration:
        return _RemoteGeneration(id, generation, sink, self._api)

    async def _answer(self, running: _RemoteGeneration) -> Finish:
        if (
            not running.generation.allow_remote
        ):  # the API checks this first, but may have another configuration
            raise GenerationError(
                "remote_not_allowed",
                "the model now runs on a remote server, which this request does not allow",
            )
        if running.generation.count_only:  # the API refuses it, but may have another configuration
            raise GenerationError(
                "token_count_unsupported", "a remote server cannot count tokens without a request"
            )
        body = self._api.body(running.generation)
        if self._stopped:
            raise _stopped()
        return await retry(self._options.retries, partial(self._attempt, running, body), _pause)

    async def _cancelled(self, running: _RemoteGeneration) -> Finish:
        if running.lost:
            raise _stopped()
        return running.finish("cancelled")

    async def _attempt(self, running: _RemoteGeneration, body: bytes) -> Finish:
        """Make one attempt. Raises `RemoteError` or `GenerationError`."""
        running.new_parser()
        try:
            await self._post(running, body)
        except HttpError as error:
            if running.finish_reason is None:
                raise self._error(running, error) from error
        if running.finish_reason is None:
            raise self._error(running, HttpError(ConnectionError("it closed the connection")))
        return running.finish(running.finish_reason)

    async def _post(self, running: _RemoteGeneration, body: bytes) -> None:
        silence_s = self._options.read_timeout_s
        async with self._client.request(
            "POST",
            self._api.path(running.generation),
            body,
            headers=self._api.headers(running.generation),
            read_timeout_s=silence_s,
        ) as response:
            if response.status != 200 or _content_type(response) == "application/json":
                error = await response.read(LONGEST_BODY)
                raise from_response(self._options, response.status, response.headers, error)
            await self._read_events(running.parser, response)
            await response.finish()

    async def _read_events(self, parser: ResponseParser, response: HttpResponse) -> None:
        while piece := await response.read_some():
            parser.feed(piece)
            if parser.done:
                return
            if parser.reason is not None:  # only the usage may follow, and many servers send none
                response.set_read_timeout(USAGE_S)

    def _error(self, running: _RemoteGeneration, error: HttpError) -> RemoteError | GenerationError:
        """Return the error for a connection that failed, or was lost before the answer's end."""
        if isinstance(error, ReadTimeout):
            log.warning("%s sent nothing for %g s", self._options.place, self._options.read_timeout_s)
            return GenerationError("engine_stalled", "the remote server sent nothing for too long")
        if not running.has_output:
            return from_connection(self._options, error)
        log.warning("%s broke off its answer: %s", self._options.place, reason(error))
        return GenerationError("engine_error", "the remote server broke off in the middle of its answer")


async def _pause(seconds: float, _error: RemoteError) -> None:
    await asyncio.sleep(seconds)


def _content_type(response: HttpResponse) -> str:
    return response.headers.get("content-type", "").partition(";")[0].strip().lower()


def _stopped() -> EngineLost:
    return EngineLost("engine_crashed", "the engine was stopped")


def _estimated(usage: Usage, generation: Generation) -> Usage:
    """Return the usage with an estimated prompt where the server has not counted it (yet)."""
    if usage.input_tokens:
        return usage
    size = sum(len(message.text.encode()) for message in generation.messages)
    size += len((generation.prompt or "").encode())
    return Usage(size // BYTES_PER_TOKEN + 1, usage.output_tokens, 0, usage.reasoning_tokens)
