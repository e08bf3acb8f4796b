"""Keeps the processes of a platform running, and stops them in order.

It is single-threaded and waits in one place (`Supervisor.wait`), until a signal, the end of a process or the
time of a restart. The parent-death signal of the processes also needs a single thread (`managed_process`).
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import time
from collections.abc import Callable
from types import FrameType

from stoker.managed_process import ManagedProcess, ProcessPlan
from stoker.process_log import CHECK_INTERVAL_S, rotate_log

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
KILL_S = 5.0  # a process in a driver call may take this long to end after SIGKILL


class StopRequested(Exception):
    """Raised when this process was asked to stop (Ctrl-C, SIGTERM)."""


class ProcessDied(Exception):
    """Raised when a process ends while the platform is still starting."""

    def __init__(self, process: ManagedProcess, ending: str) -> None:
        """`ending` describes how it ended ("killed by SIGKILL")."""
        super().__init__(f"{process.name} {ending}")
        self.process = process


class Supervisor:
    """All processes. While `starting`, the end of one is an error; later it is restarted."""

    def __init__(self, report: Callable[[str], None]) -> None:
        """`report` is called with a line whenever a process ended or was restarted."""
        self.processes: list[ManagedProcess] = []
        self.starting = True
        self._report = report
        self._stop_signals = 0
        self._stopping = False
        self._logs_checked_at = time.monotonic()
        self._wake, writing = os.pipe()
        os.set_blocking(self._wake, False)
        os.set_blocking(writing, False)
        signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        for number in STOP_SIGNALS:
            # SIGHUP stays ignored under nohup; SIGINT, which a script ignores for its `&` jobs, does not, so
            # that `kill -INT` works
            if number != signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, self._on_stop_signal)

    def start(self, plan: ProcessPlan) -> ManagedProcess:
        """Start a process and supervise it from now on. Raises `OSError`."""
        process = ManagedProcess(plan)
        process.start()
        self.processes.append(process)
        return process

    def wait(self, timeout_s: float | None = None) -> None:
        """Wait up to `timeout_s` for an event, or for the next check of the logs, and handle it.

        Raises `StopRequested` and `ProcessDied`.
        """
        if self._stop_signals:
            raise StopRequested
        self._sleep(timeout_s)
        if self._stop_signals:
            raise StopRequested
        self._rotate_logs()
        for process in self.processes:
            ending = process.poll()
            if ending is not None:
                self._ended(process, ending)
            elif process.restart_at is not None and process.restart_at <= time.monotonic():
                self._restart(process)

    def wait_until(self, condition: Callable[[], bool], timeout_s: float, every_s: float = 0.1) -> bool:
        """Supervise until the condition holds; False if it did not in time."""
        deadline = time.monotonic() + timeout_s
        while not condition():
            if time.monotonic() >= deadline:
                return False
            self.wait(every_s)
        return True

    def run(self) -> None:
        """Supervise the processes until this one is asked to stop."""
        self.starting = False
        with contextlib.suppress(StopRequested):
            while True:
                self.wait()

    def stop(self) -> bool:
        """Stop all processes, rank by rank; False if one had to be killed. A second signal kills all."""
        self._stopping = True
        all_ended = True
        for rank in sorted({process.plan.rank for process in self.processes}):
            all_ended = (
                self._stop_rank([process for process in self.processes if process.plan.rank == rank])
                and all_ended
            )
        return all_ended

    def _stop_rank(self, processes: list[ManagedProcess]) -> bool:
        for process in processes:
            process.signal(signal.SIGTERM)
        timeout_s = max(process.plan.stop_s for process in processes)
        all_ended = self._wait_for_end(processes, timeout_s)
        if not all_ended:
            for process in processes:
                process.signal(signal.SIGKILL)
            self._wait_for_end(processes, KILL_S)
        return all_ended

    def _wait_for_end(self, processes: list[ManagedProcess], timeout_s: float) -> bool:
        """Wait until these processes have ended; False if one has not in time."""
        deadline = time.monotonic() + timeout_s
        while True:
            for process in processes:
                process.poll()
            if all(process.pid is None for process in processes):
                return True
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            self._sleep(left)

    def _sleep(self, timeout_s: float | None) -> None:
        due = [
            process.restart_at - time.monotonic()
            for process in self.processes
            if process.restart_at is not None
        ]
        due.append(self._logs_checked_at + CHECK_INTERVAL_S - time.monotonic())
        if not self._stopping:
            timeout_s = max(0.0, min(due)) if timeout_s is None else max(0.0, min(timeout_s, *due))
        # if a child ended between the last poll and this call, the wake-up byte is in the pipe already
        select.select([self._wake], [], [], timeout_s)
        with contextlib.suppress(BlockingIOError):
            os.read(self._wake, 512)

    def _rotate_logs(self) -> None:
        """Bound the logs, at most once in `CHECK_INTERVAL_S`."""
        if time.monotonic() < self._logs_checked_at + CHECK_INTERVAL_S:
            return
        self._logs_checked_at = time.monotonic()
        for log in {process.plan.log for process in self.processes}:
            if log is not None:
                with contextlib.suppress(OSError):
                    rotate_log(log)

    def _ended(self, process: ManagedProcess, ending: str) -> None:
        # a server may also abort when it reads a damaged file; a killed one has found nothing
        if ending != "killed by SIGKILL" and self._repair(process):
            process.restart_at = time.monotonic()
            return
        if self.starting and not process.plan.is_optional:
            raise ProcessDied(process, ending)
        delay_s = process.backoff.after(process.uptime_s)
        process.restart_at = time.monotonic() + delay_s
        log_hint = "" if process.plan.log is None else f" (log: {process.plan.log})"
        self._report(f"{process.name} {ending}; starting it again in {delay_s:g} s{log_hint}")

    def _repair(self, process: ManagedProcess) -> bool:
        """Repair the files of a process that has ended. Returns whether anything was changed."""
        if process.plan.repair is None:
            return False
        try:
            changes = process.plan.repair()
        except OSError as error:
            changes = []
            self._report(f"the files of {process.name} cannot be repaired: {error}")
        for change in changes:
            self._report(change)
        return bool(changes)

    def _restart(self, process: ManagedProcess) -> None:
        try:
            process.start()
        except OSError as error:
            self._ended(process, f"could not be started: {error.strerror}")
        else:
            self._report(f"{process.name} started again")

    def _on_stop_signal(self, _number: int, _frame: FrameType | None) -> None:
        self._stop_signals += 1
        if self._stop_signals > 1:
            for process in self.processes:
                process.signal(signal.SIGKILL)
