"""A start under way: its deadline, the word that cancels it, and the promise that failing leaves nothing.

An adapter's `start` runs inside `Starts.of(launch)`. Whatever ends it early becomes one `LoadError`, and the
process is gone before that error is raised.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from backends.base import Launch, LoadError
from workers.engine_process.errors import Exit
from workers.engine_process.process import REASON_S, EngineProcess, last_lines

STOP_S = 2.0  # how long an engine whose start failed may take to end by itself


class Start:
    """One start under way."""

    def __init__(self, launch: Launch) -> None:
        self.launch = launch
        self._deadline = time.monotonic() + launch.model.load_timeout_s
        self._lock = threading.Lock()
        self._cancelled = False
        self._loaded = False
        self._process: EngineProcess | None = None
        self._done = 0.0

    def run(self, argv: Sequence[str], env: Mapping[str, str], pass_fds: Sequence[int] = ()) -> EngineProcess:
        """Start the engine's process. Raises `LoadError`."""
        self.check()
        try:
            process = EngineProcess.start(
                argv, directory=self.launch.directory, env=env, on_exit=self._on_exit, pass_fds=pass_fds
            )
        except OSError as error:
            raise LoadError("load_failed", f"cannot start the engine: {error}") from error
        with self._lock:
            self._process = process
        self.launch.on_process(process.pid)
        self.check()
        return process

    def check(self) -> None:
        """Raise `LoadError` when it is cancelled, out of time, or its process is gone."""
        if self._cancelled:
            raise LoadError("load_cancelled", "the load was cancelled")
        if self.left_s <= 0:
            limit = self.launch.model.load_timeout_s
            raise LoadError("load_timeout", f"the engine was not ready after {limit:g} s")
        if self._process is not None and self._process.exit is not None:
            raise self.failed(self._process)

    @property
    def left_s(self) -> float:
        """Seconds until the load timeout."""
        return self._deadline - time.monotonic()

    def failed(self, process: EngineProcess, reason: str | None = None) -> LoadError:
        """The error for a process that ended, hung up or said `reason` while it loaded."""
        if self._cancelled:
            return LoadError("load_cancelled", "the load was cancelled")
        if reason is None:
            ended = process.wait(REASON_S)
            reason = f"engine {ended} while loading" if ended else "the engine hung up while loading"
        said = last_lines(process.log_path)
        return LoadError("load_failed", f"{reason}: {said}" if said else reason)

    def progress(self, done: float, stage: str) -> None:
        """Report progress; it never goes back, and 1.0 is said at the end only."""
        self._done = max(self._done, min(done, 0.99))
        self.launch.progress(self._done, stage)

    def cancel(self) -> None:
        """Make it end with `LoadError` (load_cancelled), whatever it is waiting for."""
        with self._lock:
            self._cancelled = not self._loaded
            process = self._process
        if process is not None and self._cancelled:
            process.kill()

    def finish(self) -> None:
        """The engine can answer: from here on its exit is the launch's business. Raises `LoadError`."""
        with self._lock:
            self.check()
            self._loaded = True
        self.launch.progress(1.0, "ready")

    def abandon(self) -> None:
        """End the process, if there is one."""
        if self._process is not None:
            self._process.kill()
            self._process.stop(STOP_S)

    def _on_exit(self, ended: Exit) -> None:
        with self._lock:
            loaded = self._loaded
        if loaded:
            self.launch.on_exit(ended)


class Starts:
    """The starts under way of one runtime."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._starts: dict[str, Start] = {}

    @contextmanager
    def of(self, launch: Launch) -> Iterator[Start]:
        """One start, registered while the block runs; when the block raises, its process is ended first."""
        start = Start(launch)
        with self._lock:
            self._starts[launch.replica] = start
        try:
            yield start
            start.finish()
        except BaseException:
            start.abandon()
            raise
        finally:
            with self._lock:
                if self._starts.get(launch.replica) is start:
                    del self._starts[launch.replica]

    def cancel(self, replica: str) -> None:
        """Cancel the start of a replica; unknown ones are ignored."""
        with self._lock:
            start = self._starts.get(replica)
        if start is not None:
            start.cancel()
