"""The load generator, as the process that measures sees it."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import asdict
from types import TracebackType
from typing import Any

from benchmarks.job import Job, Measured
from benchmarks.processes import Cpu
from config.settings import ROOT


class Broken(Exception):
    """Raised when something that is measured does not do its part; the text says what."""


class Generator:
    """The process; it ends when we do, since its stdin does."""

    def __init__(self) -> None:
        argv = [sys.executable, "-m", "benchmarks.load"]
        self._process = subprocess.Popen(
            argv, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
        )

    def measure(self, job: Job, cpu: Cpu) -> tuple[Measured, dict[str, float]]:
        """Do a job: the figures, and the CPU seconds of each part in the same window. Raises `Broken`."""
        assert self._process.stdin is not None  # noqa: S101 - it was asked for
        self._process.stdin.write(json.dumps(asdict(job)) + "\n")
        self._process.stdin.flush()
        self._line()
        before = cpu.seconds()
        measured = Measured(**self._line())
        after = cpu.seconds()
        self._line()
        return measured, {part: after[part] - before[part] for part in after}

    def _line(self) -> dict[str, Any]:
        assert self._process.stdout is not None  # noqa: S101 - it was asked for
        line = self._process.stdout.readline()
        if not line:
            raise Broken("the load generator has ended")
        message: dict[str, Any] = json.loads(line)
        if "error" in message:
            raise Broken(message["error"])
        return message

    def __enter__(self) -> Generator:
        """Kill it at the end of the block."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Kill it."""
        self._process.kill()
        self._process.wait()
