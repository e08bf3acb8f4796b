"""Shows the progress of an installation: its step, how many packages and MiB are done, and the time."""

from __future__ import annotations

import os
import re
import time
from pathlib import Path
from typing import Protocol

MIB_PER_UNIT = {"KiB": 1 / 1024, "MiB": 1.0, "GiB": 1024.0}
RESOLVED = re.compile(r"Resolved \d+ packages? in ")
DOWNLOADING = re.compile(r"\s*Downloading (?P<name>\S+) \((?P<size>[\d.]+)(?P<unit>[KMG]iB)\)")
DOWNLOADED = re.compile(r"\s*Downloaded (?P<name>\S+)")
BUILDING = re.compile(r"\s*Building (?P<name>\S+)")
PREPARED = re.compile(r"Prepared \d+ packages? in ")
INSTALLED = re.compile(r"Installed \d+ packages? in ")

COMPILER_ERROR = re.compile(r": (fatal )?error: |^CMake Error")
UV_ERROR = re.compile(r"^(?:error|cause): (?P<text>.+)")
FETCH_FAILED = re.compile(r"Failed to fetch: `?(?P<address>[^`\s]+)|error sending request for url")
HASH_MISMATCH = "Hash mismatch for "


class ProgressSink(Protocol):
    """Where progress is shown (the command line's screen)."""

    def line(self, text: str) -> None:
        """Show a line that stays."""

    def status(self, text: str) -> None:
        """Show what happens now; the next status or line may replace it."""


class NoProgress:
    """Fulfils `ProgressSink` and shows nothing."""

    def line(self, text: str) -> None:
        """Do nothing."""

    def status(self, text: str) -> None:
        """Do nothing."""


class StepProgress:
    """The progress of one step of an installation, with the time since its start.

    `name` is the environment's and precedes each text; a status is shown at most every `every_s` seconds.
    """

    def __init__(self, sink: ProgressSink, name: str, every_s: float) -> None:
        self._sink = sink
        self._name = name
        self._every_s = every_s
        self._last = -every_s
        self.started = time.monotonic()

    def line(self, text: str) -> None:
        """Show a line that stays."""
        self._sink.line(f"{self._name}: {text}")

    def status(self, text: str, suffix: str = "") -> None:
        """Show what happens now and for how long, unless the last status is too recent."""
        now = time.monotonic()
        if now - self._last >= self._every_s:
            self._last = now
            self._sink.status(f"{self._name}: {text}, {duration(now - self.started)}{suffix}")

    def elapsed(self) -> str:
        """The time since the start of the step."""
        return duration(time.monotonic() - self.started)


class UvProgress:
    """Follows the output of `uv pip sync` for `total` packages that are installed into the folder `packages`.

    uv prints the size of each large download when it starts and its name when it is complete. It prints
    nothing while it installs, so the distributions in `packages` are counted.
    """

    def __init__(self, progress: StepProgress, total: int, packages: Path) -> None:
        self._progress = progress
        self._total = total
        self._packages = packages
        self._before = _distributions(packages)
        self._sizes_mib: dict[str, float] = {}
        self._downloaded: set[str] = set()
        self._doing = f"looking up {_packages(total)}"
        self._installing = False

    def on_line(self, line: str) -> None:
        """Take one line of uv's output."""
        if RESOLVED.match(line):
            self._doing = f"collecting {_packages(self._total)}"
        elif found := DOWNLOADING.match(line):
            self._sizes_mib[found["name"]] = float(found["size"]) * MIB_PER_UNIT[found["unit"]]
            self._doing = self._downloads(found["name"])
        elif found := DOWNLOADED.match(line):
            self._downloaded.add(found["name"])
            self._doing = self._downloads(found["name"])
        elif found := BUILDING.match(line):
            self._doing = f"building {found['name']}"
        elif PREPARED.match(line):
            self._installing = True
            mib = sum(self._sizes_mib.values())
            self._progress.line(
                f"collected {_packages(self._total)}, {mib:.0f} MiB, {self._progress.elapsed()}"
            )
        elif INSTALLED.match(line):
            self._installing = False
            self._doing = "compiling Python files"
        self.on_tick()

    def on_tick(self) -> None:
        """Show the current status."""
        if self._installing:
            done = min(len(_distributions(self._packages) - self._before), self._total)
            self._progress.status(f"installing, {done} of {_packages(self._total)} done")
        else:
            self._progress.status(self._doing)

    def finish(self) -> None:
        """Show that all packages are installed."""
        self._progress.line(f"installed {_packages(self._total)}, {self._progress.elapsed()}")

    def _downloads(self, name: str) -> str:
        done = sum(size for package, size in self._sizes_mib.items() if package in self._downloaded)
        total = sum(self._sizes_mib.values())
        return f"downloading {_packages(self._total)} ({name}), {done:.0f} of {total:.0f} MiB"


class ElapsedProgress:
    """Shows the run time of a program whose output has no progress, such as a compiler."""

    def __init__(self, progress: StepProgress, doing: str, minutes: str = "") -> None:
        self._progress = progress
        self._doing = doing
        self._expected = f" so far, takes about {minutes} min" if minutes else ""

    def on_line(self, _line: str) -> None:
        """Ignore the output: it is in the log."""

    def on_tick(self) -> None:
        """Show the time since the start."""
        self._progress.status(self._doing, self._expected)


def failure_reason(output: str) -> str:
    """The most useful line of a failed program's output: a compiler's first error, uv's cause, else the last
    line."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    if compiler := next(filter(COMPILER_ERROR.search, lines), None):
        return compiler[:300]
    errors = [found["text"] for found in map(UV_ERROR.match, lines) if found]
    if mismatch := next((text for text in errors if text.startswith(HASH_MISMATCH)), None):
        return f"{mismatch}: the file is not the one in the lock file"[:300]
    fetched = next(filter(None, map(FETCH_FAILED.search, errors)), None)
    if fetched:  # the last cause is the most specific one
        return f"a package index cannot be reached ({errors[-1][:150]}): {fetched['address'] or errors[0]}"[
            :300
        ]
    return (errors[-1:] or lines[-1:] or ["it printed nothing"])[0][:300]


def duration(seconds: float) -> str:
    """A duration in words, such as `59 s` or `3 min 05 s`."""
    whole = round(seconds)
    return f"{whole} s" if whole < 60 else f"{whole // 60} min {whole % 60:02} s"


def _packages(count: int) -> str:
    return "1 package" if count == 1 else f"{count} packages"


def _distributions(packages: Path) -> set[str]:
    try:
        return {name for name in os.listdir(packages) if name.endswith(".dist-info")}  # noqa: PTH208 - names do
    except OSError:
        return set()
