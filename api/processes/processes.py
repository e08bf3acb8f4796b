"""Keeps the API processes running: each is a fork of this one, and inherits its listening socket."""

from __future__ import annotations

import contextlib
import logging
import multiprocessing
import os
import signal
import socket
import time
from collections.abc import Callable
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess

from api.processes.process import STOP_SIGNALS

logger = logging.getLogger("api")

SHORT_LIFE_S = 5.0
RESTART_DELAY_S = 1.0
"""After a process that lived for less than SHORT_LIFE_S: it would probably fail at once again."""

KILL_AFTER_S = 5.0
"""How much longer than its time to finish requests a process may take to end."""


class Processes:
    """`count` processes that run `target` on `listener`. One that dies is replaced."""

    def __init__(
        self,
        count: int,
        listener: socket.socket,
        target: Callable[[socket.socket], None],
        stop_timeout_s: float,
    ) -> None:
        self._context = multiprocessing.get_context("fork")
        self._count = count
        self._listener = listener
        self._target = target
        self._stop_timeout_s = stop_timeout_s
        self._processes: list[tuple[BaseProcess, float]] = []
        self._stopping = False

    def run(self) -> None:
        """Run the processes until SIGTERM or SIGINT, then stop them."""
        wake, waking = os.pipe()
        os.set_blocking(wake, False)
        os.set_blocking(waking, False)
        signal.set_wakeup_fd(waking, warn_on_full_buffer=False)
        for number in STOP_SIGNALS:
            signal.signal(number, self._stop)
        try:
            while not self._stopping:
                self._start_missing()
                wait([wake, *(process.sentinel for process, _ in self._processes)])
                with contextlib.suppress(BlockingIOError):
                    os.read(wake, 512)
                self._remove_ended()
            self._stop_all()
        finally:
            signal.set_wakeup_fd(-1)
            os.close(wake)
            os.close(waking)

    def _start_missing(self) -> None:
        while len(self._processes) < self._count and not self._stopping:
            process = self._context.Process(target=self._run_child, name="api")
            process.start()
            self._processes.append((process, time.monotonic()))

    def _run_child(self) -> None:
        signal.set_wakeup_fd(-1)
        for number in STOP_SIGNALS:
            signal.signal(number, signal.SIG_DFL)  # until its event loop handles them
        self._target(self._listener)

    def _remove_ended(self) -> None:
        for entry in list(self._processes):
            process, started = entry
            if process.is_alive():
                continue
            process.join()
            self._processes.remove(entry)
            if not self._stopping:
                logger.error(
                    "an API process (pid %d) ended with %s; it is replaced", process.pid, process.exitcode
                )
                if time.monotonic() - started < SHORT_LIFE_S:
                    time.sleep(RESTART_DELAY_S)

    def _stop_all(self) -> None:
        self._listener.close()  # no new connections, as soon as the processes have closed it too
        for process, _ in self._processes:
            process.terminate()
        deadline = time.monotonic() + self._stop_timeout_s + KILL_AFTER_S
        for process, _ in self._processes:
            process.join(max(0.0, deadline - time.monotonic()))
            if process.is_alive():
                process.kill()
                process.join()

    def _stop(self, *_: object) -> None:
        self._stopping = True
