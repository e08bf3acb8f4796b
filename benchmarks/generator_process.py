"""Runs a load generator as a process, and takes the readings of a meter in the same window."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, Generic, Protocol, TypeVar

from config.settings import ROOT

Result = TypeVar("Result")


class BenchmarkError(Exception):
    """Raised when a process of the benchmark fails; the text names it and the reason."""


class Meter(Protocol):
    """Counts what the measured processes use, by name."""

    def read(self) -> dict[str, float]:
        """The counts since some time before the measurement."""
        ...


class LoadGenerator(Generic[Result]):
    """The process that runs `module`. It ends with this process, since its stdin is closed then.

    `parse` makes a result from the fields of the generator's answer.
    """

    def __init__(self, module: str, parse: Callable[..., Result]) -> None:
        self._parse = parse
        argv = [sys.executable, "-m", module]
        self._process = subprocess.Popen(
            argv, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
        )

    def measure(self, spec: Mapping[str, Any], meter: Meter) -> tuple[Result, dict[str, float]]:
        """Generate the specified load.

        Returns the result, and what the meter has counted in the same window. Raises `BenchmarkError`.
        """
        assert self._process.stdin is not None  # noqa: S101 - it is a pipe
        self._process.stdin.write(json.dumps(spec) + "\n")
        self._process.stdin.flush()
        self._read_message()
        before = meter.read()
        result = self._parse(**self._read_message())
        after = meter.read()
        self._read_message()
        return result, {name: after[name] - before[name] for name in after}

    def _read_message(self) -> dict[str, Any]:
        assert self._process.stdout is not None  # noqa: S101 - it is a pipe
        line = self._process.stdout.readline()
        if not line:
            raise BenchmarkError("the load generator has ended")
        message: dict[str, Any] = json.loads(line)
        if "error" in message:
            raise BenchmarkError(message["error"])
        return message

    def __enter__(self) -> LoadGenerator[Result]:
        """The process is killed at the end of the block."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Kill the process."""
        self._process.kill()
        self._process.wait()
