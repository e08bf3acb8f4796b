"""One part of a running platform: a process in a session of its own, which does not outlive this one."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from stoker.backoff import Backoff

PR_SET_PDEATHSIG = 1
HEADLINE = "==== "  # begins the line that each start writes into the log
MAX_LOG_BYTES = 16 * 1024 * 1024  # a longer log is put aside as `.1` when its part starts


@dataclass(frozen=True)
class Plan:
    """How to run a part.

    `environment` is laid over ours. `stop_s` is how long it may take after SIGTERM. Parts are stopped by
    `rank`, the lowest first. `last_signal` is what it gets when this process is gone. Its output goes to
    `log` (appended), or where ours goes when that is None. It inherits `keep_fds`.
    """

    name: str
    argv: Sequence[str]
    environment: Mapping[str, str] = field(default_factory=dict)
    cwd: Path | None = None
    log: Path | None = None
    stop_s: float = 5.0
    rank: int = 0
    last_signal: signal.Signals = signal.SIGKILL
    keep_fds: tuple[int, ...] = ()


class Part:
    """A plan and the process that follows it, if one does. `restart_at` is set (monotonic) while it waits."""

    def __init__(self, plan: Plan) -> None:
        """Nothing is started yet."""
        self.plan = plan
        self.backoff = Backoff()
        self.restart_at: float | None = None
        self._started = 0.0
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def name(self) -> str:
        """What people call it."""
        return self.plan.name

    @property
    def pid(self) -> int | None:
        """The process, while it runs."""
        return None if self._process is None else self._process.pid

    @property
    def life_s(self) -> float:
        """Seconds since its last start."""
        return time.monotonic() - self._started

    def start(self) -> None:
        """Start the process. Raises `OSError` when that cannot be done."""
        plan = self.plan
        self._started = time.monotonic()
        self.restart_at = None
        with contextlib.ExitStack() as stack:
            output = None if plan.log is None else stack.enter_context(open_log(plan.log))
            if output is not None:
                os.write(
                    output, f"{HEADLINE}{plan.name} starts, {time.strftime('%Y-%m-%d %H:%M:%S')}\n".encode()
                )
            self._process = subprocess.Popen(
                plan.argv,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=None if output is None else subprocess.STDOUT,
                cwd=plan.cwd,
                env={**os.environ, **plan.environment},
                pass_fds=plan.keep_fds,
                start_new_session=True,  # a Ctrl-C in the terminal is for us, who stop the parts in order
                preexec_fn=_bind(plan.last_signal),  # noqa: PLW1509 - we are one thread, so it is safe
            )

    def end(self) -> str | None:
        """How the process ended ("killed by SIGKILL"), None while it runs or when there is none.

        Says so once; what it left behind in its group is killed.
        """
        process = self._process
        if process is None or process.poll() is None:
            return None
        self._process = None
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        return ending(process.returncode)

    def signal(self, number: signal.Signals) -> None:
        """Ask the process (SIGTERM) or kill it with its group (SIGKILL)."""
        process = self._process
        if process is None or process.poll() is not None:
            return
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if number == signal.SIGKILL:
                os.killpg(process.pid, number)
            else:
                os.kill(process.pid, number)

    def kill(self) -> None:
        """Kill the process with its group and wait for its end."""
        process = self._process
        if process is not None:
            self.signal(signal.SIGKILL)
            process.wait()
            self._process = None


def ending(code: int) -> str:
    """A return code of `subprocess` in words."""
    if code >= 0:
        return f"exited with code {code}"
    try:
        return f"killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"killed by signal {-code}"


def last_lines(log: Path | None, count: int = 12) -> list[str]:
    """The last lines since the last start, for whoever wants to know why the part ended."""
    try:
        text = b"" if log is None else log.read_bytes()[-16384:]
    except OSError:
        return []
    return text.decode("utf-8", "replace").rpartition(HEADLINE)[2].splitlines()[1:][-count:]


@contextlib.contextmanager
def open_log(path: Path) -> Iterator[int]:
    """Open a log to append to, for its owner only; a very long one is put aside first."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with contextlib.suppress(FileNotFoundError):
        if path.stat().st_size > MAX_LOG_BYTES:
            path.replace(path.with_name(f"{path.name}.1"))
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        yield handle
    finally:
        os.close(handle)


def _bind(number: signal.Signals) -> Callable[[], None] | None:
    """What the child does first (Linux): ask for a signal at our death, and go if we are dead already."""
    if sys.platform != "linux":
        return None
    prctl, parent = ctypes.CDLL(None).prctl, os.getpid()

    def bind() -> None:
        prctl(PR_SET_PDEATHSIG, int(number), 0, 0, 0)
        if os.getppid() != parent:
            os._exit(1)

    return bind
