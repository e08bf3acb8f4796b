"""Runs the Lua scripts: one file per command; `-- include: name` lines insert the shared functions.

Every script is safe to call twice, so a call whose reply was lost is repeated once. Redis' errors are raised
as `StorageUnavailable` or `StorageFull`.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
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

from scheduler.errors import StorageFull, StorageUnavailable
from scheduler.redis_connections import connections_of

LUA = Path(__file__).parent / "lua"
INCLUDE = re.compile(r"^-- include: (\w+)$", re.MULTILINE)
UNAVAILABLE = (ConnectionError, TimeoutError, BusyLoadingError, ReadOnlyError, OSError)

Argument = str | bytes | int | float


@cache
def source(path: Path) -> str:
    """Return a script's text with its includes inserted."""

    def include(match: re.Match[str]) -> str:
        return (LUA / "include" / f"{match[1]}.lua").read_text()

    return INCLUDE.sub(include, path.read_text())


class Scripts:
    """Runs the scripts of one folder by name.

    `offset_us` (microseconds) is added to Redis' clock: tests move time with it.
    """

    def __init__(self, client: redis.Redis, prefix: str, folder: Path = LUA) -> None:
        self.client: Any = client  # redis-py types every reply as a union of all its modes
        self.prefix = "{" + prefix + "}:"
        self.offset_us = 0
        self._connections = connections_of(client)
        self._folder = folder
        self._digests: dict[str, str] = {}

    def command(self, name: str, arguments: Sequence[Argument]) -> tuple[Argument, ...]:
        """Return the EVALSHA command that runs a script, for `exchange`."""
        digest = self._digests.get(name)
        if digest is None:
            text = source(self._folder / f"{name}.lua")
            digest = self._digests[name] = hashlib.sha1(text.encode()).hexdigest()  # noqa: S324 - EVALSHA's name
        return ("EVALSHA", digest, 1, self.prefix, self.offset_us, *arguments)

    def run(self, name: str, *arguments: Argument) -> Any:
        """Run a script and return its reply as Redis sends it, with strings as bytes.

        Raises `StorageUnavailable` when Redis cannot be reached, `StorageFull` when it refuses writes.
        """
        command = self.command(name, arguments)
        try:
            (reply,) = self.exchange([command])
            if isinstance(reply, NoScriptError):
                text = source(self._folder / f"{name}.lua")
                (reply,) = self.exchange([("EVAL", text, *command[2:])])
        except Exception as error:
            raise translate_redis_error(error) from error
        if isinstance(reply, Exception):
            raise translate_redis_error(reply)
        return reply

    def exchange(self, commands: Sequence[tuple[Argument, ...]]) -> list[Any]:
        """Run commands in one round trip; the reply to a refused command is its exception."""
        try:
            return self._connections.exchange(commands)
        except (ConnectionError, TimeoutError):
            # the connection broke while it was idle, or the reply was lost
            return self._connections.exchange(commands)

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
    refused = isinstance(error, OutOfMemoryError) or (
        isinstance(error, ResponseError) and str(error).startswith(("OOM", "MISCONF", "NOREPLICAS"))
    )
    if refused:
        return StorageFull(
            "the shared store (Redis) refuses writes: its memory or disk is full", retry_after_s=10
        )
    return error
