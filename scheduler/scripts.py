"""Runs the Lua scripts: one file per command; `-- include: name` lines insert the shared functions.

Every script is safe to call twice, so `run` repeats a call once if its reply was lost. Redis' errors are
raised as `StorageUnavailable` or `StorageFull`.
"""

from __future__ import annotations

import hashlib
import re
import secrets
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path
from typing import Any

import redis
from redis.exceptions import (
    BusyLoadingError,
    ConnectionError,
    NoScriptError,
    OutOfMemoryError,
    ReadOnlyError,
    ResponseError,
    TimeoutError,
)

from scheduler.async_connection import AsyncConnection
from scheduler.errors import StorageFull, StorageUnavailable
from scheduler.redis_connections import CALL_TIMEOUT_S, ConnectFailed, connections_of

LUA = Path(__file__).parent / "lua"
INCLUDE = re.compile(r"^-- include: (\w+)$", re.MULTILINE)
UNAVAILABLE = (ConnectionError, TimeoutError, BusyLoadingError, ReadOnlyError, OSError)

Argument = str | bytes | int | float


@cache
def source(path: Path) -> str:
    """Return a script's text with its includes inserted."""
    return assemble(path, Path.read_text)


def assemble(path: Path, read: Callable[[Path], str]) -> str:
    """Return a script's text with its includes inserted, each once, where it is named first."""
    included: set[str] = set()

    def include(match: re.Match[str]) -> str:
        name = match[1]
        if name in included:
            return ""
        included.add(name)
        return INCLUDE.sub(include, read(LUA / "include" / f"{name}.lua"))

    return INCLUDE.sub(include, read(path))


class ScriptCommands:
    """The commands that run the scripts of one folder.

    `offset_us` (microseconds) is added to Redis' clock: tests move time with it.
    """

    def __init__(self, prefix: str, folder: Path) -> None:
        self.prefix = "{" + prefix + "}:"
        self.offset_us = 0
        self._folder = folder
        self._digests: dict[str, str] = {}

    def command(self, name: str, arguments: Sequence[Argument]) -> tuple[Argument, ...]:
        """Return the EVALSHA command that runs a script."""
        digest = self._digests.get(name)
        if digest is None:
            digest = self._digests[name] = hashlib.sha1(self.source(name).encode()).hexdigest()  # noqa: S324 - EVALSHA's name
        return ("EVALSHA", digest, 1, self.prefix, self.offset_us, *arguments)

    def source(self, name: str) -> str:
        """Return the text of a script."""
        return source(self._folder / f"{name}.lua")


class Scripts(ScriptCommands):
    """Runs the scripts of one folder by name."""

    def __init__(self, client: redis.Redis, prefix: str, folder: Path = LUA) -> None:
        super().__init__(prefix, folder)
        self.client: Any = client  # redis-py types every reply as a union of all its modes
        self._connections = connections_of(client)

    def run(self, name: str, *arguments: Argument) -> Any:
        """Run a script and return its reply as Redis sends it, with strings as bytes.

        Raises `StorageUnavailable` when Redis cannot be reached, `StorageFull` when it refuses writes.
        """
        return self._run(self.exchange, name, arguments)

    def run_once(self, name: str, *arguments: Argument) -> Any:
        """Run a script like `run`, but leave it to the caller to repeat a call whose reply was lost."""
        return self._run(self._connections.exchange, name, arguments)

    def _run(
        self,
        exchange: Callable[[Sequence[tuple[Argument, ...]]], list[Any]],
        name: str,
        arguments: Sequence[Argument],
    ) -> Any:
        command = self.command(name, arguments)
        with redis_errors_translated():
            (reply,) = exchange([command])
            if isinstance(reply, NoScriptError):
                (reply,) = exchange([("EVAL", self.source(name), *command[2:])])
            if isinstance(reply, Exception):
                raise reply
            return reply

    def exchange(self, commands: Sequence[tuple[Argument, ...]]) -> list[Any]:
        """Run commands in one round trip; the reply to a refused command is its exception."""
        began = time.monotonic()
        try:
            return self._connections.exchange(commands)
        except ConnectFailed:
            raise
        except (ConnectionError, TimeoutError):
            # the connection broke while it was idle, or the reply was lost
            return self._connections.exchange(commands, CALL_TIMEOUT_S - (time.monotonic() - began))

    def now(self) -> float:
        """Return the scripts' clock in Unix seconds. Raises `StorageUnavailable`."""
        with redis_errors_translated():
            seconds, microseconds = self.client.time()
        return float(seconds + (microseconds + self.offset_us) / 1e6)

    def load(self) -> None:
        """Load all scripts into Redis, so that EVALSHA finds them. Needed again after a restart of Redis."""
        with redis_errors_translated():
            for path in sorted(self._folder.glob("*.lua")):
                self.client.script_load(source(path))


def without_errors(replies: list[Any]) -> list[Any]:
    """The same replies of an `exchange`. Raises the first one that is an exception."""
    for reply in replies:
        if isinstance(reply, Exception):
            raise reply
    return replies


class AsyncScripts(ScriptCommands):
    """Runs the scripts of one folder by name, for the coroutines of one event loop."""

    def __init__(self, connection: AsyncConnection, prefix: str, folder: Path = LUA) -> None:
        super().__init__(prefix, folder)
        self._connection = connection

    async def run(self, name: str, *arguments: Argument) -> Any:
        """See `Scripts.run`."""
        return await self._run(self.exchange, name, arguments)

    async def run_once(self, name: str, *arguments: Argument, defer_s: float = 0.0) -> Any:
        """See `Scripts.run_once`; for `defer_s` see `AsyncConnection.exchange`."""
        return await self._run(partial(self._connection.exchange, defer_s=defer_s), name, arguments)

    def read_now(self) -> None:
        """See `AsyncConnection.read_now`."""
        self._connection.read_now()

    async def _run(
        self,
        exchange: Callable[[Sequence[tuple[Argument, ...]]], Awaitable[list[Any]]],
        name: str,
        arguments: Sequence[Argument],
    ) -> Any:
        command = self.command(name, arguments)
        with redis_errors_translated():
            (reply,) = await exchange([command])
            if isinstance(reply, NoScriptError):
                (reply,) = await exchange([("EVAL", self.source(name), *command[2:])])
            if isinstance(reply, Exception):
                raise reply
            return reply

    async def exchange(self, commands: Sequence[tuple[Argument, ...]]) -> list[Any]:
        """See `Scripts.exchange`."""
        began = time.monotonic()
        try:
            return await self._connection.exchange(commands)
        except ConnectFailed:
            raise
        except (ConnectionError, TimeoutError):
            # the connection broke while it was idle, or the reply was lost
            left_s = CALL_TIMEOUT_S - (time.monotonic() - began)
            return await self._connection.exchange(commands, within_s=left_s)


def call_id() -> str:
    """Return a random id for a call, by which a script distinguishes a repeated call from a second one."""
    return secrets.token_hex(8)


@contextmanager
def redis_errors_translated() -> Iterator[None]:
    """Translate errors that are raised in the block; see `translate_redis_error`."""
    try:
        yield
    except Exception as error:
        raise translate_redis_error(error) from error


def translate_redis_error(error: Exception) -> Exception:
    """Return `StorageUnavailable` or `StorageFull` for an error of Redis, any other error unchanged."""
    if isinstance(error, UNAVAILABLE):
        return StorageUnavailable(
            "the shared store (Redis) cannot be reached; retry in a moment", retry_after_s=2
        )
    if isinstance(error, ResponseError) and str(error).startswith("NOREPLICAS"):
        return StorageUnavailable(
            "the shared store (Redis) refuses writes: fewer replicas are connected to it than "
            "min-replicas-to-write asks for",
            retry_after_s=2,
        )
    refused = isinstance(error, OutOfMemoryError) or (
        isinstance(error, ResponseError) and str(error).startswith(("OOM", "MISCONF"))
    )
    if refused:
        return StorageFull(
            "the shared store (Redis) refuses writes: its memory or disk is full", retry_after_s=10
        )
    return error
