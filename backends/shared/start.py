"""The start of an engine: its deadline, its cancellation, the clean-up of its process, and its interpreter.

An adapter's `start` runs inside `starting(launch)`. Every early end becomes one `LoadError`, and the engine
process has ended before that error is raised.
"""

from __future__ import annotations

import os
import resource
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from backends.base import Launch, LoadError
from backends.catalogue import BACKENDS
from config.commands import with_runnable_commands
from config.settings import ModelDefinition
from engines.engine_process.errors import Exit
from engines.engine_process.process import EXIT_WAIT_S, EngineProcess, likely_cause
from engines.environments import EnvironmentMissing, interpreter

KILLED = (
    ", which Stoker did not do: most likely the kernel killed it because the machine's memory was used up;"
    " lower the context or target_inflight, or use a smaller model"
)
NVIDIA_LIBRARIES = "lib/python3*/site-packages/nvidia/*/lib"
STOP_S = 2.0  # from SIGTERM to SIGKILL, for an engine whose start failed


class EngineStart:
    """One start under way; made by `starting`."""

    def __init__(self, launch: Launch) -> None:
        self.launch = launch
        self._deadline = time.monotonic() + launch.model.load_timeout_s
        self._lock = threading.Lock()
        self._cancelled = False
        self._loaded = False
        self.process: EngineProcess | None = None
        self._done = 0.0

    def run(
        self,
        argv: Sequence[str],
        env: Mapping[str, str],
        pass_fds: Sequence[int] = (),
        *,
        memory_limit_mib: int | None = None,
        cpu_limit_s: int | None = None,
    ) -> EngineProcess:
        """Start the engine process. Raises `LoadError`.

        Limits bound what it allocates (RLIMIT_DATA) and its CPU time, after which SIGXCPU ends it.
        """
        self.check()
        try:
            process = EngineProcess.start(
                argv, directory=self.launch.directory, env=env, on_exit=self._on_exit, pass_fds=pass_fds
            )
        except OSError as error:
            raise LoadError("load_failed", f"cannot start the engine: {error}") from error
        with self._lock:
            self.process = process
        if memory_limit_mib is not None:
            _limit(process, resource.RLIMIT_DATA, memory_limit_mib << 20, memory_limit_mib << 20)
        if cpu_limit_s is not None:
            _limit(process, resource.RLIMIT_CPU, cpu_limit_s, cpu_limit_s + 1)
        self.launch.on_process(process.pid)
        self._check_limits()  # an engine that has ended already may have reported why
        return process

    def check(self, has_come: Callable[[], bool] = lambda: False) -> None:
        """Raise `LoadError` when the start is cancelled or timed out, or when its process has ended.

        `has_come` tells whether something from the engine can be read now. What an engine that has just ended
        has reported is read before its end counts.
        """
        process = self.process
        ended = process if process is not None and process.exit is not None else None
        if ended is not None and has_come():
            return
        self._check_limits()
        if ended is not None:
            raise self.failed(ended)

    def _check_limits(self) -> None:
        if self._cancelled:
            raise LoadError("load_cancelled", "the load was cancelled")
        if self.left_s <= 0:
            limit = self.launch.model.load_timeout_s
            raise LoadError("load_timeout", f"the engine was not ready after {limit:g} s")

    @property
    def left_s(self) -> float:
        """Seconds until the load timeout."""
        return self._deadline - time.monotonic()

    def failed(
        self, process: EngineProcess, reason: str | None = None, *, quotes_log: bool = True
    ) -> LoadError:
        """Return the error for a process that ended, closed its pipes or reported `reason` while it loaded.

        The line of the engine's log with the likely cause is appended to the message, unless the reason says
        everything (`quotes_log` is false).
        """
        if self._cancelled:
            return LoadError("load_cancelled", "the load was cancelled")
        if reason is None:
            exit = process.wait(EXIT_WAIT_S)
            reason = f"engine {exit or 'closed its connection'} while loading"
            if exit is not None and exit.signal == signal.SIGKILL and not exit.expected:
                return LoadError("load_failed", f"{reason}{KILLED}")
        reason = with_runnable_commands(reason)  # an engine cannot know where the program is
        cause = likely_cause(process.log_path) if quotes_log else ""
        return LoadError("load_failed", f"{reason}: {cause}" if cause else reason)

    def progress(self, done: float, stage: str) -> None:
        """Report progress (0 to 1). It never decreases, and reaches 1.0 only when the start succeeds."""
        self._done = max(self._done, min(done, 0.99))
        self.launch.progress(self._done, stage)

    def cancel(self) -> None:
        """End the start with `LoadError` (load_cancelled) at its next `check`; does nothing once loaded."""
        with self._lock:
            self._cancelled = not self._loaded
            process = self.process
        if process is not None and self._cancelled:
            process.kill()

    def finish(self) -> None:
        """Mark the engine as loaded: from now on its exit is passed to the launch. Raises `LoadError`."""
        with self._lock:
            self.check()
            self._loaded = True
        self.launch.progress(1.0, "ready")

    def clean_up(self) -> None:
        """Kill the engine process, if one was started, and wait for its end."""
        if self.process is not None:
            self.process.kill()
            self.process.stop(STOP_S)

    def _on_exit(self, exit: Exit) -> None:
        with self._lock:
            loaded = self._loaded
        if loaded:
            self.launch.on_exit(exit)


def _limit(process: EngineProcess, what: int, soft: int, hard: int) -> None:
    if sys.platform == "linux":
        with suppress(ProcessLookupError):  # it has ended already
            resource.prlimit(process.pid, what, (soft, hard))


@contextmanager
def starting(launch: Launch, start: EngineStart | None = None) -> Iterator[EngineStart]:
    """Run a start inside the block, under the launch's cancellation token.

    When the block raises, the engine process is ended before the error leaves. Raises `LoadError`.
    """
    start = EngineStart(launch) if start is None else start
    with launch.cancellation.on_cancel(start.cancel):
        try:
            start.check()
            yield start
            start.finish()
        except BaseException:
            start.clean_up()
            raise


def engine_python(
    environments: Path, backend: str, configured: str | None = None, *, otherwise: str = ""
) -> Path:
    """Return the interpreter for a backend's engines: the configured one, or that of its environment.

    `environments` is the folder of the environments (see `engines.environments`). Raises `LoadError`
    (load_failed); `otherwise` is appended to its message, to name an alternative.
    """
    try:
        return interpreter(environments, backend, configured)
    except EnvironmentMissing as error:
        raise LoadError("load_failed", f"{error}{otherwise}") from error


def model_python(model: ModelDefinition, environments: Path) -> Path:
    """Return the interpreter for a model: that of its option `python`, or of the environment of its backend.

    Raises `LoadError` (load_failed).
    """
    configured = BACKENDS[model.backend].values(model.options)["python"]
    otherwise = f", or set {model.backend}_python to one that has it"
    return engine_python(environments, model.backend, configured, otherwise=otherwise)


def nvidia_libraries(python: Path) -> dict[str, str]:
    """Return LD_LIBRARY_PATH with NVIDIA's libraries if they are installed beside CTranslate2.

    It loads them by name only.
    """
    return library_path(*sorted(python.parent.parent.glob(NVIDIA_LIBRARIES)))


def library_path(*folders: Path) -> dict[str, str]:
    """Return LD_LIBRARY_PATH with these folders before the inherited ones; empty without folders."""
    if not folders:
        return {}
    inherited = os.environ.get("LD_LIBRARY_PATH")
    return {"LD_LIBRARY_PATH": os.pathsep.join(filter(None, [*map(str, folders), inherited]))}
