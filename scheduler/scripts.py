"""Runs the Lua scripts: one file per command, shared steps taken in by `-- include: name` lines.

Every script is written so that calling it twice does no harm, so a call whose answer was lost is made once
more. Redis' own errors become two of ours: `StorageUnavailable` and `StorageFull`.
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
AWAY = (ConnectionError, TimeoutError, BusyLoadingError, ReadOnlyError, OSError)

Argument = str | bytes | int | float


@cache
def source(path: Path) -> str:
    """A script's text with its includes in place."""

    def include(match: re.Match[str]) -> str:
        return (LUA / "include" / f"{match[1]}.lua").read_text()

    return INCLUDE.sub(include, path.read_text())


class Scripts:
    """The scripts of one folder, called by name.

    `offset_us` is added to Redis' clock: tests move time with it.
    """

    def __init__(self, client: redis.Redis, prefix: str, folder: Path = LUA) -> None:
        self.client: Any = client  # redis-py types every answer as a union of all its modes
        self.prefix = "{" + prefix + "}:"
        self.offset_us = 0
        self._connections = connections_of(client)
        self._folder = folder
        self._digests: dict[str, str] = {}

    def command(self, name: str, arguments: Sequence[Argument]) -> tuple[Argument, ...]:
        """The EVALSHA command that runs the script, for a pipeline."""
        digest = self._digests.get(name)
        if digest is None:
            text = source(self._folder / f"{name}.lua")
            digest = self._digests[name] = hashlib.sha1(text.encode()).hexdigest()  # noqa: S324 - EVALSHA's name
        return ("EVALSHA", digest, 1, self.prefix, self.offset_us, *arguments)

    def run(self, name: str, *arguments: Argument) -> Any:
        """Run a script; its answer comes as Redis gives it, with strings as bytes.

        Raises `StorageUnavailable` when Redis is away, `StorageFull` when it refuses writes.
        """
        command = self.command(name, arguments)
        try:
            (answer,) = self.exchange([command])
            if isinstance(answer, NoScriptError):
                text = source(self._folder / f"{name}.lua")
                (answer,) = self.exchange([("EVAL", text, *command[2:])])
        except Exception as error:
            raise translate_redis_error(error) from error
        if isinstance(answer, Exception):
            raise translate_redis_error(answer)
        return answer

    def exchange(self, commands: Sequence[tuple[Argument, ...]]) -> list[Any]:
        """Run commands in one round trip; a refused one's answer is its exception."""
        try:
            return self._connections.exchange(commands)
        except (ConnectionError, TimeoutError):
            # a connection that died while it was idle, or an answer lost on the way
            return self._connections.exchange(commands)

    def now(self) -> float:
        """Redis' clock as the scripts see it, in unix seconds. Raises `StorageUnavailable`."""
        with redis_errors_translated():
            seconds, microseconds = self.client.time()
        return float(seconds + (microseconds + self.offset_us) / 1e6)

    def load(self) -> None:
        """Give Redis all scripts, so that pipelines can name them. Needed again after it lost them."""
        with redis_errors_translated():
            for path in sorted(self._folder.glob("*.lua")):
                self.client.script_load(source(path))


def call_id() -> str:
    """A call's own name: by it a script knows a repeated call from a second one."""
    return secrets.token_hex(8)


@contextmanager
def redis_errors_translated() -> Iterator[None]:
    """Raises, for what Redis raises in the block, our own error."""
    try:
        yield
    except Exception as error:
        raise translate_redis_error(error) from error


def translate_redis_error(error: Exception) -> Exception:
    """Ours for Redis' error; anything else, a mistake of ours included, stays what it is."""
    if isinstance(error, AWAY):
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
