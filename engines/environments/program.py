"""Runs a program to its end, passes on its output, and appends the output to a log."""

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
END_S = 5.0  # how long a program may take to end after SIGTERM


class OutputHandler(Protocol):
    """Follows the output of a program."""

    def on_line(self, line: str) -> None:
        """Called with each line of the output."""

    def on_tick(self) -> None:
        """Called every `TICK_S` seconds in which there is no output."""


def run_program(
    argv: Sequence[str],
    environment: Mapping[str, str],
    log: Path,
    handler: OutputHandler,
    lock_fd: int,
) -> str | None:
    """Run a program in a process group of its own. Returns None when it exits with 0, else how it ended.

    Its output (stdout and stderr) is appended to `log`. It inherits `lock_fd`, so that the environment stays
    locked while it runs, even if this process is killed. An exception in this process (such as
    `KeyboardInterrupt`) ends the whole group first.
    """
    with (
        log.open("ab", buffering=0) as output,
        subprocess.Popen(
            argv,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            pass_fds=(lock_fd,),
        ) as process,
    ):
        assert process.stdout is not None  # noqa: S101 - a pipe was asked for
        output.write(f"$ {' '.join(argv)}\n".encode())
        try:
            _read_output(process.stdout.fileno(), output.write, handler)
            code = process.wait()
        except BaseException:
            _end(process)
            raise
    if code == 0:
        return None
    return f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with code {code}"


def _read_output(fd: int, write: Callable[[bytes], object], handler: OutputHandler) -> None:
    rest = b""
    while True:
        if not select.select([fd], [], [], TICK_S)[0]:
            handler.on_tick()
            continue
        chunk = os.read(fd, 65536)
        if not chunk:
            return
        write(chunk)
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            handler.on_line(line.decode("utf-8", "replace").rstrip())


def _end(process: subprocess.Popen[bytes]) -> None:
    for number, wait_s in ((signal.SIGTERM, END_S), (signal.SIGKILL, None)):
        with suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with suppress(subprocess.TimeoutExpired):
            process.wait(wait_s)
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)  # its children that it did not wait for
            return
