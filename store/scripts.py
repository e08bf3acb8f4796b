"""Runs the Lua scripts, one file per command; those of the hot path as functions of Redis.

Every script is safe to call twice, so a call is repeated once if its reply was lost. Redis' errors are
raised as `StorageUnavailable` or `StorageFull` (`store/redis_errors.py`).
"""

from __future__ import annotations

import hashlib
import logging
import random
import secrets
import time
from collections.abc import Generator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import redis
from redis.exceptions import (
    ConnectionError,
    NoPermissionError,
    NoScriptError,
    ResponseError,
    TimeoutError,
)

from store.async_connection import AsyncConnection
from store.calls import Call, Read, T
from store.errors import StokerError
from store.function_library import FunctionLibrary, function_library, prefix_of
from store.redis_connections import CALL_TIMEOUT_S, ConnectFailed, connections_of
from store.redis_errors import refuses_writes, translate_redis_error
from store.script_arguments import Argument, NamedArguments, ScriptArguments
from store.script_text import arguments_of, is_function, source

logger = logging.getLogger("scheduler")

KEPT_VERSIONS = 4
"""Versions of a library that stay in Redis: those of processes before and after an update, and some more."""

WITHOUT_FUNCTIONS_S = 60.0
"""How long scripts are called as such after Redis has refused a library: it is full, or forbids them."""


class ScriptCommands:
    """The commands that run the scripts of one folder.

    `offset_us` (microseconds) is added to Redis' clock: tests move time with it.
    """

    def __init__(self, prefix: str, folder: Path) -> None:
        self.prefix = "{" + prefix + "}:"
        self.offset_us = 0
        self._folder = folder
        self._arguments: dict[str, ScriptArguments] = {}
        self._digests: dict[str, str] = {}
        self._functions: dict[str, bool] = {}
        self._libraries: dict[str, FunctionLibrary] = {}
        self._without_functions_until = 0.0

    def command(self, name: str, arguments: NamedArguments) -> tuple[Argument, ...]:
        """Return the command that runs a script: FCALL or EVALSHA.

        Raises `TypeError` for a missing or an unknown argument.
        """
        declared = self._arguments.get(name)
        if declared is None:
            declared = self._arguments[name] = arguments_of(self._folder / f"{name}.lua")
        values = declared.in_order(arguments)
        if self._is_function(name) and time.monotonic() >= self._without_functions_until:
            return ("FCALL", self._library(name).name, 1, self.prefix, self.offset_us, *values)
        digest = self._digests.get(name)
        if digest is None:
            digest = self._digests[name] = hashlib.sha1(self.source(name).encode()).hexdigest()  # noqa: S324 - EVALSHA's name
        return ("EVALSHA", digest, 1, self.prefix, self.offset_us, *values)

    def _is_function(self, name: str) -> bool:
        known = self._functions.get(name)
        if known is None:
            known = self._functions[name] = is_function(self._folder / f"{name}.lua")
        return known

    def source(self, name: str) -> str:
        """Return the text of a script."""
        return source(self._folder / f"{name}.lua")

    def begin(self, command: Call[T] | Read[T]) -> list[tuple[Argument, ...]]:
        """Return what is sent to execute a command."""
        if isinstance(command, Call):
            return [self.command(command.script, command.arguments)]
        return [(name, f"{self.prefix}{key}", *rest) for name, key, *rest in command.commands]

    def recovery(
        self, call: Call[Any], sent: tuple[Argument, ...], error: Exception
    ) -> Generator[list[tuple[Argument, ...]], list[Any], Any]:
        """Yield the commands of each further round trip that a refused script needs, take their replies.

        Returns the script's reply. It is one round trip when Redis does not have the script. Raises the last
        error.
        """
        reply: Any = error
        while (again := self._again(call.script, sent, reply)) is not None:
            replies = yield again
            reply = replies[-1]
            if surplus := self._after_load(call.script, replies):
                yield surplus
            if not is_missing(reply):
                break
            sent = self.command(call.script, call.arguments)  # as a script
            (reply,) = yield [sent]
        if isinstance(reply, Exception):
            raise reply
        return reply

    def _again(
        self, name: str, command: tuple[Argument, ...], reply: Any
    ) -> list[tuple[Argument, ...]] | None:
        """Return what runs a script whose `command` has this reply; the last reply is the script's.

        None unless Redis does not have the script, or does not permit FCALL.
        """
        if isinstance(reply, NoScriptError):
            return [("EVAL", self.source(name), *command[2:])]
        if command[0] != "FCALL" or not isinstance(reply, ResponseError):
            return None
        if is_missing(reply):
            pattern = f"{prefix_of(name)}*"
            load = ("FUNCTION", "LOAD", self._library(name).text)
            return [load, ("FUNCTION", "LIST", "LIBRARYNAME", pattern), command]
        if isinstance(reply, NoPermissionError):
            self._do_without_functions(reply)
            return [("EVAL", self.source(name), *command[2:])]
        return None

    def _after_load(self, name: str, replies: Sequence[Any]) -> list[tuple[Argument, ...]]:
        """Return what deletes versions of a library beyond `KEPT_VERSIONS`; `replies` are those to `_again`.

        An older process may still use one of them: it loads it again.
        """
        if len(replies) == 1:
            return []
        loaded, listed, _ = replies
        if isinstance(loaded, Exception) and "already exists" not in str(loaded):
            self._do_without_functions(loaded)
        if isinstance(listed, Exception):
            return []
        others = [one for one in map(_library_name, listed) if one != self._library(name).name]
        surplus = random.sample(others, max(0, len(others) + 1 - KEPT_VERSIONS))
        return [("FUNCTION", "DELETE", one) for one in surplus]

    def _do_without_functions(self, error: Exception) -> None:
        logger.info("Redis refuses a function library; its script is used instead: %s", error)
        self._without_functions_until = time.monotonic() + WITHOUT_FUNCTIONS_S

    def _library(self, name: str) -> FunctionLibrary:
        library = self._libraries.get(name)
        if library is None:
            library = self._libraries[name] = function_library(self._folder / f"{name}.lua")
        return library


def is_missing(reply: Any) -> bool:
    """Whether Redis has no function of the name that was called."""
    return isinstance(reply, ResponseError) and str(reply) == "Function not found"


def _library_name(listed: Any) -> str:
    """Return the name of a library in the reply to FUNCTION LIST: a map, or in RESP2 a list."""
    fields = listed if isinstance(listed, dict) else dict(zip(listed[::2], listed[1::2], strict=True))
    name = fields[b"library_name"] if b"library_name" in fields else fields["library_name"]
    return name.decode() if isinstance(name, bytes) else str(name)


class Scripts(ScriptCommands):
    """Runs the scripts of one folder by name."""

    def __init__(self, client: redis.Redis, prefix: str, folder: Path) -> None:
        super().__init__(prefix, folder)
        self.client: Any = client  # redis-py types every reply as a union of all its modes
        self._connections = connections_of(client)

    def run(self, script: str, /, **arguments: Argument | Sequence[Argument]) -> Any:
        """Run a script with its arguments by name; returns its reply as Redis sends it, with texts as bytes.

        Raises `StorageUnavailable` when Redis cannot be reached, `StorageFull` when it refuses writes.
        """
        return self.execute(Call(script, arguments, unchanged))

    def run_or_read(self, script: str, reading: str, /, **arguments: Argument | Sequence[Argument]) -> Any:
        """Run a script; while Redis refuses writes, the script `reading`, which has the same arguments.

        Raises as `run`.
        """
        try:
            return self.run(script, **arguments)
        except StokerError as error:
            if not refuses_writes(error):
                raise
            return self.run(reading, **arguments)

    def execute(self, command: Call[T] | Read[T]) -> T:
        """Execute a command and return its result. Raises as `run`, and what reading the reply raises."""
        exchange = self.exchange if command.repeats else self._connections.exchange
        with redis_errors_translated():
            commands = self.begin(command)
            replies = exchange(commands)
            if isinstance(command, Read):
                result: T = command.read(without_errors(replies))
                return result
            reply = replies[0]
            if isinstance(reply, Exception):
                steps = self.recovery(command, commands[0], reply)
                commands = next(steps)
                while True:
                    replies = exchange(commands)
                    try:
                        commands = steps.send(replies)
                    except StopIteration as end:
                        reply = end.value
                        break
            result = command.read(reply)
            return result

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
        """Load all scripts into Redis, so that no call has to. Needed again after a restart of Redis."""
        with redis_errors_translated():
            for path in sorted(self._folder.glob("*.lua")):
                if self._is_function(path.stem):
                    self.client.execute_command("FUNCTION", "LOAD", "REPLACE", self._library(path.stem).text)
                else:
                    self.client.script_load(source(path))


def unchanged(reply: Any) -> Any:
    """The reply as it is: of a script whose caller reads it."""
    return reply


def without_errors(replies: list[Any]) -> list[Any]:
    """The same replies of an `exchange`. Raises the first one that is an exception."""
    for reply in replies:
        if isinstance(reply, Exception):
            raise reply
    return replies


class AsyncScripts(ScriptCommands):
    """Runs the scripts of one folder by name, for the coroutines of one event loop."""

    def __init__(self, connection: AsyncConnection, prefix: str, folder: Path) -> None:
        super().__init__(prefix, folder)
        self._connection = connection

    async def run(self, script: str, /, **arguments: Argument | Sequence[Argument]) -> Any:
        """Run a script with its arguments by name; see `Scripts.run`."""
        return await self.execute(Call(script, arguments, unchanged))

    async def execute(self, command: Call[T] | Read[T], *, defer_s: float = 0.0) -> T:
        """Execute a command; see `Scripts.execute`. `defer_s`, for one that is not repeated:
        `AsyncConnection.exchange`.
        """
        exchange = self.exchange if command.repeats else partial(self._connection.exchange, defer_s=defer_s)
        with redis_errors_translated():
            commands = self.begin(command)
            replies = await exchange(commands)
            if isinstance(command, Read):
                result: T = command.read(without_errors(replies))
                return result
            reply = replies[0]
            if isinstance(reply, Exception):
                steps = self.recovery(command, commands[0], reply)
                commands = next(steps)
                while True:
                    replies = await exchange(commands)
                    try:
                        commands = steps.send(replies)
                    except StopIteration as end:
                        reply = end.value
                        break
            result = command.read(reply)
            return result

    def read_now(self) -> None:
        """Read the replies that a call has deferred; see `AsyncConnection.read_now`."""
        self._connection.read_now()

    async def exchange(self, commands: Sequence[tuple[Argument, ...]]) -> list[Any]:
        """Run commands in one round trip; the reply to a refused command is its exception."""
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


class _RedisErrorsTranslated:
    """Has no state: one serves all blocks, and costs less than a generator for each."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, _kind: type[BaseException] | None, error: BaseException | None, _trace: Any) -> None:
        if isinstance(error, Exception) and (translated := translate_redis_error(error)) is not error:
            raise translated from error


_TRANSLATION = _RedisErrorsTranslated()


def redis_errors_translated() -> _RedisErrorsTranslated:
    """Translate errors that are raised in the block; see `translate_redis_error`."""
    return _TRANSLATION
