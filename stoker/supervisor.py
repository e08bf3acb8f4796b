"""Keeps the parts of a platform running, and stops them in order.

One thread, one place that waits (`turn`): a signal, the end of a part or the time to start one again wake it.
Being one thread is also what lets the kernel tell the parts of our death (see `part.py`).
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import time
from collections.abc import Callable
from types import FrameType

from stoker.managed_process import Part, Plan

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
KILL_S = 5.0  # a process in the middle of a driver call can outlive its SIGKILL for a while


class Asked(Exception):
    """Raised when somebody asked us to stop (Ctrl-C, SIGTERM)."""


class PartDied(Exception):
    """Raised when a part ends while the platform is still starting."""

    def __init__(self, part: Part, how: str) -> None:
        """Which part, and how it ended."""
        super().__init__(f"{part.name} {how}")
        self.part = part


class Supervisor:
    """All parts. While it is `starting`, the end of a part is an error; later it is started again."""

    def __init__(self, say: Callable[[str], None]) -> None:
        """`say` gets a line whenever something ends or begins by itself."""
        self.parts: list[Part] = []
        self.starting = True
        self._say = say
        self._asked = 0
        self._stopping = False
        self._wake, writing = os.pipe()
        os.set_blocking(self._wake, False)
        os.set_blocking(writing, False)
        signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        for number in STOP_SIGNALS:
            # under nohup SIGHUP is ignored, and stays so; a script's `&` ignores SIGINT for us, and a
            # kill -INT means us all the same
            if number != signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, self._ask)

    def start(self, plan: Plan) -> Part:
        """Start a part and look after it from now on. Raises `OSError`."""
        part = Part(plan)
        part.start()
        self.parts.append(part)
        return part

    def turn(self, timeout_s: float | None = None) -> None:
        """Wait for something to happen, at most `timeout_s`, and see to it. Raises `Asked` and `PartDied`."""
        if self._asked:
            raise Asked
        self._sleep(timeout_s)
        if self._asked:
            raise Asked
        for part in self.parts:
            how = part.end()
            if how is not None:
                self._ended(part, how)
            elif part.restart_at is not None and part.restart_at <= time.monotonic():
                self._restart(part)

    def until(self, condition: Callable[[], bool], timeout_s: float, every_s: float = 0.1) -> bool:
        """Take turns until the condition holds; False when it did not in time."""
        deadline = time.monotonic() + timeout_s
        while not condition():
            if time.monotonic() >= deadline:
                return False
            self.turn(every_s)
        return True

    def run(self) -> None:
        """Look after the parts until somebody asks us to stop."""
        self.starting = False
        with contextlib.suppress(Asked):
            while True:
                self.turn()

    def stop(self) -> bool:
        """End all parts, rank by rank; whether all ended when asked. A second signal kills at once."""
        self._stopping = True
        well = True
        for rank in sorted({part.plan.rank for part in self.parts}):
            well = self._stop_rank([part for part in self.parts if part.plan.rank == rank]) and well
        return well

    def _stop_rank(self, parts: list[Part]) -> bool:
        for part in parts:
            part.signal(signal.SIGTERM)
        patience_s = max(part.plan.stop_s for part in parts)
        well = self._gone(parts, patience_s)
        if not well:
            for part in parts:
                part.signal(signal.SIGKILL)
            self._gone(parts, KILL_S)
        return well

    def _gone(self, parts: list[Part], timeout_s: float) -> bool:
        """Wait until these parts have ended; False when one has not in time."""
        deadline = time.monotonic() + timeout_s
        while True:
            for part in parts:
                part.end()
            if all(part.pid is None for part in parts):
                return True
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            self._sleep(left)

    def _sleep(self, timeout_s: float | None) -> None:
        due = [part.restart_at - time.monotonic() for part in self.parts if part.restart_at is not None]
        if not self._stopping and due:
            timeout_s = max(0.0, min(due)) if timeout_s is None else max(0.0, min(timeout_s, *due))
        # a child's end that comes between our look and this call is in the pipe already
        select.select([self._wake], [], [], timeout_s)
        with contextlib.suppress(BlockingIOError):
            os.read(self._wake, 512)

    def _ended(self, part: Part, how: str) -> None:
        if self.starting:
            raise PartDied(part, how)
        delay_s = part.backoff.after(part.life_s)
        part.restart_at = time.monotonic() + delay_s
        where = "" if part.plan.log is None else f" (log: {part.plan.log})"
        self._say(f"{part.name} {how}; starting it again in {delay_s:g} s{where}")

    def _restart(self, part: Part) -> None:
        try:
            part.start()
        except OSError as error:
            self._ended(part, f"could not be started: {error.strerror}")
        else:
            self._say(f"{part.name} started again")

    def _ask(self, _number: int, _frame: FrameType | None) -> None:
        self._asked += 1
        if self._asked > 1:
            for part in self.parts:
                part.signal(signal.SIGKILL)
