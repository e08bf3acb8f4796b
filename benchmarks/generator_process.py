"""The load generator, as the process that measures sees it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, Generic, TypeVar

from benchmarks.processes import Cpu
from config.settings import ROOT

Measured = TypeVar("Measured")


class Broken(Exception):
    """Raised when something that is measured does not do its part; the text says what."""


class Generator(Generic[Measured]):
    """The process that runs `module`; it ends when we do, since its stdin does. `read` takes its figures."""

    def __init__(self, module: str, read: Callable[..., Measured]) -> None:
        self._read = read
        argv = [sys.executable, "-m", module]
        self._process = subprocess.Popen(
            argv, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
        )

    def measure(self, job: Mapping[str, Any], cpu: Cpu) -> tuple[Measured, dict[str, float]]:
        """Do a job: the figures, and the CPU seconds of each part in the same window. Raises `Broken`."""
        assert self._process.stdin is not None  # noqa: S101 - it was asked for
        self._process.stdin.write(json.dumps(job) + "\n")
        self._process.stdin.flush()
        self._line()
        before = cpu.seconds()
        measured = self._read(**self._line())
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

    def __enter__(self) -> Generator[Measured]:
        """Kill it at the end of the block."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Kill it."""
        self._process.kill()
        self._process.wait()
