"""A person at a terminal: runs a program in a real one, types, and reads what it shows."""

from __future__ import annotations

import contextlib
import os
import pty
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.support.waiting import scaled, wait_until

CTRL_C, CTRL_D = "\x03", "\x04"

IN_TERMINAL = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""
"""Makes the terminal that is the input the controlling one, whose Ctrl-C is a signal, and runs a program."""


class TypingPerson:
    """`shown` is everything that the terminal has shown, the typed keys included."""

    def __init__(self, *words: str, cwd: Path, environment: Mapping[str, str]) -> None:
        self._leader, follower = pty.openpty()
        self._shown = bytearray()
        self.process = subprocess.Popen(
            [sys.executable, "-c", IN_TERMINAL, *words],
            cwd=cwd,
            env={**environment, "TERM": "xterm", "COLUMNS": "120", "LINES": "40"},
            stdin=follower,
            stdout=follower,
            stderr=follower,
            start_new_session=True,
        )
        os.close(follower)
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    @property
    def shown(self) -> str:
        return self._shown.decode("utf-8", "replace").replace("\r\n", "\n")

    def type(self, text: str) -> None:
        """Press these keys; a line ends with a line break."""
        os.write(self._leader, text.encode())

    def wait_for(self, words: str, seconds: float = 20, *, times: int = 1) -> str:
        """Wait until the words are shown, so many times; returns everything that is shown."""

        def is_over() -> bool:
            return self.shown.count(words) >= times or self.process.poll() is not None

        wait_until(is_over, seconds, lambda: f"no {words!r}: {self.shown}")
        if self.process.poll() is not None:
            self._thread.join(scaled(5))
        assert self.shown.count(words) >= times, self.shown
        return self.shown

    def exit_code(self, seconds: float = 20) -> int:
        """Wait until the program has ended."""
        code = self.process.wait(scaled(seconds))
        self._thread.join(scaled(5))
        return code

    def close(self) -> None:
        """Kill the program, if it runs."""
        self.process.kill()
        self.process.wait()
        self._thread.join(scaled(5))
        os.close(self._leader)

    def _read(self) -> None:
        with contextlib.suppress(OSError):  # EIO: the program has ended
            while data := os.read(self._leader, 1 << 16):
                self._shown += data


@contextlib.contextmanager
def person_at(*words: str, cwd: Path, environment: Mapping[str, str]) -> Iterator[TypingPerson]:
    """Run a program in a terminal until the block ends."""
    person = TypingPerson(*words, cwd=cwd, environment=environment)
    try:
        yield person
    finally:
        person.close()
