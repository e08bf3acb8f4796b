"""One process of a running platform: it runs in its own session and does not outlive this process."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from stoker.process_log import open_log

PR_SET_PDEATHSIG = 1
FIRST_DELAY_S = 0.5
MAX_DELAY_S = 10.0
HEALTHY_S = 30.0
HEADLINE = "==== "  # prefix of the line that each start writes into the log


class Backoff:
    """The delay before a restart: doubles from 0.5 s to 10 s, and is reset after 30 s of uptime."""

    def __init__(self) -> None:
        self._next_s = FIRST_DELAY_S

    def after(self, uptime_s: float) -> float:
        """Return the seconds to wait after a process ended that had run for `uptime_s`."""
        if uptime_s >= HEALTHY_S:
            self._next_s = FIRST_DELAY_S
        delay_s, self._next_s = self._next_s, min(2 * self._next_s, MAX_DELAY_S)
        return delay_s


@dataclass(frozen=True)
class ProcessPlan:
    """The parameters of a process.

    `environment` overrides variables of this process. `stop_s` is the time to end after SIGTERM. Processes
    are stopped in the order of their `rank`. The kernel sends `parent_death_signal` when this process is
    gone. The output is appended to `log`; without one it goes to this process' own. With `logs_json` each
    line there is a JSON object. `inherited_fds` are file descriptors that it inherits. `repair` is called
    when the process has ended by itself: it repairs the files of the process, and returns a sentence for each
    change. A process that `is_optional` does not stop the start of the others.
    """

    name: str
    argv: Sequence[str]
    environment: Mapping[str, str] = field(default_factory=dict)
    cwd: Path | None = None
    log: Path | None = None
    logs_json: bool = False
    stop_s: float = 5.0
    rank: int = 0
    parent_death_signal: signal.Signals = signal.SIGKILL
    inherited_fds: tuple[int, ...] = ()
    repair: Callable[[], list[str]] | None = None
    is_optional: bool = False


class ManagedProcess:
    """A plan and its process, if one runs. `restart_at` (monotonic) is set while it waits for a restart."""

    def __init__(self, plan: ProcessPlan) -> None:
        """Does not start the process."""
        self.plan = plan
        self.backoff = Backoff()
        self.restart_at: float | None = None
        self._started = 0.0
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def name(self) -> str:
        """The name in messages."""
        return self.plan.name

    @property
    def pid(self) -> int | None:
        """The process id, None unless the process runs."""
        return None if self._process is None else self._process.pid

    @property
    def uptime_s(self) -> float:
        """Seconds since its last start."""
        return time.monotonic() - self._started

    def start(self) -> None:
        """Start the process. Raises `OSError`."""
        plan = self.plan
        self._started = time.monotonic()
        self.restart_at = None
        with contextlib.ExitStack() as stack:
            output = None if plan.log is None else stack.enter_context(open_log(plan.log))
            if output is not None:
                os.write(output, _headline(plan).encode())
            self._process = subprocess.Popen(
                plan.argv,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=None if output is None else subprocess.STDOUT,
                cwd=plan.cwd,
                env={**os.environ, **plan.environment},
                pass_fds=plan.inherited_fds,
                start_new_session=True,  # Ctrl-C reaches the supervisor only
                preexec_fn=_set_parent_death_signal(plan.parent_death_signal),  # noqa: PLW1509 - safe in a single-threaded process
            )

    def poll(self) -> str | None:
        """Return how the process ended ("killed by SIGKILL"); None while it runs or if there is none.

        Reports each end once, and kills the processes that are left in its group.
        """
        process = self._process
        if process is None or process.poll() is None:
            return None
        self._process = None
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        return describe_exit(process.returncode)

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the process, or SIGKILL to its whole group."""
        process = self._process
        if process is None or process.poll() is not None:
            return
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if number == signal.SIGKILL:
                os.killpg(process.pid, number)
            else:
                os.kill(process.pid, number)

    def kill(self) -> None:
        """Kill the process with its group and wait until it has ended."""
        process = self._process
        if process is not None:
            self.signal(signal.SIGKILL)
            process.wait()
            self._process = None


def describe_exit(code: int) -> str:
    """Describe a return code of `subprocess` in words."""
    if code >= 0:
        return f"exited with code {code}"
    try:
        return f"killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"killed by signal {-code}"


def last_lines(log: Path | None, count: int = 12) -> list[str]:
    """Return the last lines of a log since the last start of its process."""
    try:
        text = b"" if log is None else log.read_bytes()[-16384:]
    except OSError:
        return []
    return text.decode("utf-8", "replace").rpartition(HEADLINE)[2].splitlines()[1:][-count:]


def _headline(plan: ProcessPlan) -> str:
    """The line with which a start begins in the log."""
    now = time.time()
    text = f"{HEADLINE}{plan.name} starts, {time.strftime('%Y-%m-%d %H:%M:%S', time.localtime(now))}"
    if plan.logs_json:
        head = {"time": round(now, 3), "level": "info", "room": "stoker", "logger": "stoker"}
        text = json.dumps({**head, "message": text})
    return f"{text}\n"


def _set_parent_death_signal(number: signal.Signals) -> Callable[[], None] | None:
    """Return a function for the child (Linux only) that requests a signal for the death of its parent."""
    if sys.platform != "linux":
        return None
    prctl, parent = ctypes.CDLL(None).prctl, os.getpid()

    def set_signal() -> None:
        prctl(PR_SET_PDEATHSIG, int(number), 0, 0, 0)
        if os.getppid() != parent:  # it died before the request
            os._exit(1)

    return set_signal
