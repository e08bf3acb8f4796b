"""Saves, restores and erases the states of conversations in the engines of a worker, as its jobs ask.

The engine writes to a file in a folder of its own, from which the worker makes the tenant's file, and reads a
copy that the worker has checked. A job that is cancelled ends at once; what it began goes on in the engine,
and is dropped.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

import orjson

from backends.base import Finish, GenerationError, KeepsStates, Sink, StateChoice
from config.settings import StateSettings
from engines.engine_process.errors import EngineError
from generation.generation import CacheOwner, Generation, StateRequest
from streams.events import TextDelta, Usage
from workers.model_files import change_digest, content_digest
from workers.replica import Replica
from workers.states.state_file import StateHeader, read_header, read_state, write_state
from workers.states.tenant_folder import TenantFolder

T = TypeVar("T")

OFF = "this worker saves no states: set state.directory"
UNABLE = "the engine of this model keeps no states that can be saved"
NO_NAMESPACE = "the cache namespaces are being read again: try again"
NO_CACHE = "a request with X-Cache-Mode none has no state"
CHANGED = "the model's files have changed since it was loaded: load it again"
BUSY = "the replica with the state is gone, or busy with another state: try again"
DISK_FULL = "the disk of state.directory is full"
MAX_DIGESTS = 64
SHORT_S, LONGEST_REST_S = 0.05, 10.0
"""After an action that took longer than SHORT_S the engine does none for the same time."""

logger = logging.getLogger("workers")


class Cancelled(Exception):
    """Raised in the thread of a copy whose job was cancelled."""


@dataclass(eq=False)
class Run:
    """A job's request while it runs."""

    request: StateRequest
    owner: CacheOwner
    engine: KeepsStates
    replica: Replica
    choice: StateChoice
    is_cancelled: bool = False

    def check(self) -> None:
        """Raise `Cancelled` if its job was cancelled."""
        if self.is_cancelled:
            raise Cancelled


class StateActions:
    """The actions of one worker. All methods are for its event loop."""

    def __init__(self, settings: StateSettings) -> None:
        self._settings = settings
        self._runs: dict[str, tuple[Run, Sink]] = {}
        self._locks: WeakKeyDictionary[KeepsStates, asyncio.Lock] = WeakKeyDictionary()
        self._digests: OrderedDict[str, str] = OrderedDict()  # of files' content, by `Replica.files`
        self._tasks: set[asyncio.Task[None]] = set()

    def submit(self, id: str, generation: Generation, replica: Replica, sink: Sink) -> None:
        """Start what a job asks for; its outcome goes to the sink."""
        request, engine, owner = generation.state, replica.engine, generation.cache_owner
        assert request is not None  # noqa: S101 - the job is one of these
        if self._settings.directory is None:
            sink.fail(GenerationError("not_supported", OFF))
        elif not isinstance(engine, KeepsStates) or engine.state_folder is None:
            sink.fail(GenerationError("not_supported", UNABLE))
        elif generation.cache_mode == "none":
            sink.fail(GenerationError("state_not_found", NO_CACHE))
        elif (namespace := generation.shared_namespace) is None or owner is None:
            sink.fail(GenerationError("server_busy", NO_NAMESPACE))
        elif request.replica not in (None, replica.name):
            sink.fail(GenerationError("server_busy", BUSY))
        else:
            choice = StateChoice(namespace, request.conversation, request.slot)
            run = Run(request, owner, engine, replica, choice)
            self._runs[id] = run, sink
            task = asyncio.get_running_loop().create_task(self._answer(id, run, sink))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    def cancel(self, id: str) -> None:
        """End a job's request; unknown ids are ignored."""
        found = self._runs.pop(id, None)
        if found is not None:
            run, sink = found
            run.is_cancelled = True
            sink.finish(Finish("cancelled", Usage()))

    async def _answer(self, id: str, run: Run, sink: Sink) -> None:
        lock = self._locks.setdefault(run.engine, asyncio.Lock())
        async with lock:
            if run.is_cancelled:
                return
            began = time.monotonic()
            outcome = await self._outcome(run)
            took_s = time.monotonic() - began
            if self._runs.pop(id, None) is not None:
                if isinstance(outcome, EngineError):
                    sink.fail(outcome)
                else:
                    sink.delta(TextDelta(outcome))
                    sink.finish(Finish("stop", Usage()))
            if took_s > SHORT_S:  # the generations of the engine may have waited: they go on for as long
                await asyncio.sleep(min(took_s, LONGEST_REST_S))

    async def _outcome(self, run: Run) -> str | EngineError:
        """What was done, as JSON, or why it was not."""
        try:
            return orjson.dumps(await self._act(run)).decode()
        except EngineError as error:
            return error
        except OSError as error:
            return disk_error(error)
        except Cancelled:
            return GenerationError("engine_error", "it was cancelled")  # nobody waits for it
        except Exception:
            logger.exception("an action on a state failed with an unexpected error")
            return GenerationError("engine_error", "the engine failed")

    def _act(self, run: Run) -> Coroutine[Any, Any, dict[str, Any]]:
        act = {"save": self._save, "restore": self._restore, "erase": self._erase}[run.request.action]
        return act(run)

    async def _save(self, run: Run) -> dict[str, Any]:
        began, name = time.monotonic(), run.request.filename or ""
        folder = TenantFolder(self._settings, run.owner)
        await _in_thread(folder.check_room, name)
        identity = await self._identity(run)
        own = engine_file(run.engine)
        try:
            saved = await run.engine.save_state(run.choice, own.name)
            run.check()
            size = await _in_thread(_keep, own, folder, name, run, identity, saved.tokens, saved.note)
        finally:
            await _in_thread(_remove, own)
        return {"n_saved": saved.tokens, "n_written": size, "timings": {"save_ms": _ms_since(began)}}

    async def _restore(self, run: Run) -> dict[str, Any]:
        began, name = time.monotonic(), run.request.filename or ""
        identity = await self._identity(run)
        own = engine_file(run.engine)
        try:
            tokens, size, note = await _in_thread(_fetch, own, self._settings, name, run, identity)
            run.check()
            restored = await run.engine.restore_state(run.choice, own.name, note)
        finally:
            await _in_thread(_remove, own)
        if restored != tokens:
            raise GenerationError("engine_error", "the engine did not restore the state as a whole")
        return {"n_restored": restored, "n_read": size, "timings": {"restore_ms": _ms_since(began)}}

    async def _erase(self, run: Run) -> dict[str, Any]:
        if run.request.filename is None:
            return {"n_erased": await _erased(run)}
        await _in_thread(TenantFolder(self._settings, run.owner).delete, run.request.filename)
        return {"n_erased": 0}

    async def _identity(self, run: Run) -> dict[str, str]:
        """What a state of this engine depends on. The files are read once, unless they change."""
        model, files = run.replica.model, run.replica.files
        if files not in self._digests:
            self._digests[files] = await _in_thread(content_digest, model)
            if len(self._digests) > MAX_DIGESTS:
                self._digests.popitem(last=False)
        if await _in_thread(change_digest, model) != files:
            raise GenerationError("state_unusable", CHANGED)
        return {**run.engine.state_identity, "model digest": self._digests[files]}


async def _erased(run: Run) -> int:
    """Erase what the engine has; 0 if that is nothing."""
    try:
        return await run.engine.erase_state(run.choice)
    except GenerationError as error:
        if error.code != "state_not_found":
            raise
        return 0


def engine_file(engine: KeepsStates) -> Path:
    """The path of a new file in the engine's folder."""
    assert engine.state_folder is not None  # noqa: S101 - `submit` has checked it
    return engine.state_folder / secrets.token_hex(16)


def disk_error(error: OSError) -> GenerationError:
    """The error of a file that cannot be written or read."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return GenerationError("state_disk_full", DISK_FULL)
    reason = os.strerror(error.errno) if error.errno else type(error).__name__
    return GenerationError("engine_error", f"the file of the state cannot be used: {reason}")


def _keep(  # noqa: PLR0913, PLR0917 - all that a file consists of
    own: Path,
    folder: TenantFolder,
    name: str,
    run: Run,
    identity: dict[str, str],
    tokens: int,
    note: bytes,
) -> int:
    """Make the tenant's file from the engine's. Returns its size."""
    source = os.open(own, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        size = os.fstat(source).st_size
        header = StateHeader(run.choice.namespace, identity, tokens, len(note), size)
        with folder.new_file(name) as target:
            size = write_state(source, target, header, note, run.check)
            run.check()
        return size
    finally:
        os.close(source)


def _fetch(
    own: Path, settings: StateSettings, name: str, run: Run, identity: dict[str, str]
) -> tuple[int, int, bytes]:
    """Check the tenant's file, and copy the engine's part. Returns its tokens, its size and the note."""
    with TenantFolder(settings, run.owner).file(name) as source:
        header = read_header(source)
        header.check(run.choice.namespace, identity)
        target = os.open(own, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            note = read_state(source, target, run.check)
        finally:
            os.close(target)
        return header.tokens, os.fstat(source).st_size, note


def _remove(own: Path) -> None:
    with suppress(OSError):
        own.unlink()


def _ms_since(began: float) -> float:
    return round((time.monotonic() - began) * 1000, 3)


async def _in_thread(call: Callable[..., T], *arguments: Any) -> T:
    return await asyncio.get_running_loop().run_in_executor(None, partial(call, *arguments))
