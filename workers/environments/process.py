"""Runs a program to its end, listens to what it says, and keeps all of it in a log."""

from __future__ import annotations

import os
import select
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Protocol

TICK_S = 0.5
END_S = 5.0  # how long it may take to end when it is asked to


class Listener(Protocol):
    """Who follows it."""

    def hear(self, line: str) -> None:
        """Take a line of its output."""

    def tick(self) -> None:
        """Called twice a second, whether it says something or not."""


def run(
    argv: Sequence[str],
    environment: Mapping[str, str],
    log: Path,
    listener: Listener,
    held_fd: int,
) -> str | None:
    """Run it in a group of its own; None when it ended well, else how it ended.

    What it says is added to `log`. It inherits `held_fd`, so that what this holds stays held when we are
    killed. Whatever interrupts us ends the group first.
    """
    with (
        log.open("ab", buffering=0) as kept,
        subprocess.Popen(
            argv,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            pass_fds=(held_fd,),
        ) as process,
    ):
        assert process.stdout is not None  # noqa: S101 - a pipe was asked for
        kept.write(f"$ {' '.join(argv)}\n".encode())
        try:
            _listen(process.stdout.fileno(), kept.write, listener)
            code = process.wait()
        except BaseException:
            _end(process)
            raise
    if code == 0:
        return None
    return f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with code {code}"


def _listen(fd: int, keep: Callable[[bytes], object], listener: Listener) -> None:
    rest = b""
    while True:
        if not select.select([fd], [], [], TICK_S)[0]:
            listener.tick()
            continue
        chunk = os.read(fd, 65536)
        if not chunk:
            return
        keep(chunk)
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            listener.hear(line.decode("utf-8", "replace").rstrip())


def _end(process: subprocess.Popen[bytes]) -> None:
    for ending, patience_s in ((signal.SIGTERM, END_S), (signal.SIGKILL, None)):
        with suppress(ProcessLookupError):
            os.killpg(process.pid, ending)
        with suppress(subprocess.TimeoutExpired):
            process.wait(patience_s)
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)  # those that it started and did not wait for
            return
