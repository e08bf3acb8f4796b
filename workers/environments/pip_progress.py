"""What pip says, told as progress: how many packages of how many, how many MiB, for how long."""

from __future__ import annotations

import os
import re
import time
from pathlib import Path
from typing import Protocol

NAME = r"(?P<name>[\w.-]+?)(?=-\d|[^\w.-]|$)"
COLLECTED = re.compile(rf"(?:Collecting |Processing (?:\S*/)?|Requirement already satisfied: ){NAME}")
FETCHED = re.compile(r"\s*(?:Downloading|Using cached) (?:\S*/)?(?P<name>\S+?)-\d\S*\.(?:whl|gz|zip)(?=\s|$)")
BUILDING = re.compile(r"\s*Building wheel for (?P<name>\S+)")
INSTALLING = re.compile(r"Installing collected packages:")
COMPLAINT = re.compile(r": (fatal )?error: |^CMake Error")
UNREACHED = re.compile(
    r"after connection broken by '(?P<retried>.+)': /|^Could not fetch URL (?P<given_up>.+) - skip"
)
NESTED = re.compile(r" object at 0x\w+>[:,] |\w+Error\((?:\d+, )?")
NOT_FOUND = "No matching distribution found"
MIB = 1024 * 1024


class Say(Protocol):
    """Where progress is shown (the command line's screen)."""

    def line(self, text: str) -> None:
        """A line that stays."""

    def status(self, text: str) -> None:
        """What happens now; may be replaced by the next."""


class Silence:
    """Fulfils `Say` and shows nothing."""

    def line(self, text: str) -> None:
        """Nothing."""

    def status(self, text: str) -> None:
        """Nothing."""


class Story:
    """Tells one step of an installation; `every_s` is how often its status may change."""

    def __init__(self, say: Say, name: str, every_s: float) -> None:
        self._say = say
        self._name = name
        self._every_s = every_s
        self._last = -every_s
        self.began = time.monotonic()

    def line(self, text: str) -> None:
        """A line that stays."""
        self._say.line(f"{self._name}: {text}")

    def status(self, text: str, more: str = "") -> None:
        """What happens now, with the time it has taken so far; told only if the last was long enough ago."""
        now = time.monotonic()
        if now - self._last >= self._every_s:
            self._last = now
            self._say.status(f"{self._name}: {text}, {duration(now - self.began)}{more}")

    def took(self) -> str:
        """How long it has taken so far."""
        return duration(time.monotonic() - self.began)


class Pip:
    """Follows one run of pip that installs `total` packages.

    `scratch` is where it unpacks what it downloads, `packages` the folder it installs into: neither says
    anything of itself, so both are looked at.
    """

    def __init__(self, story: Story, total: int, scratch: Path, packages: Path) -> None:
        self._story = story
        self._total = total
        self._scratch = scratch
        self._packages = packages
        self._before = _installed(packages)
        self._collected = self._fetched = 0
        self._mib = 0.0
        self._doing = "asking for packages"
        self._installing = False

    def hear(self, line: str) -> None:
        """Take one line of its output."""
        if found := COLLECTED.match(line):
            self._collected = min(self._collected + 1, self._total)
            self._doing = f"collecting {self._collected} of {_packages(self._total)} ({found['name']})"
        elif (found := FETCHED.match(line)) and self._collected == self._total:
            self._fetched = min(self._fetched + 1, self._total)
            self._doing = f"downloading {self._fetched} of {_packages(self._total)} ({found['name']})"
        elif found := BUILDING.match(line):
            self._doing = f"building {found['name']}"
        elif INSTALLING.match(line):
            self._installing = True
            self._weigh()
            self._story.line(f"collected {_packages(self._total)}, {self._mib:.0f} MiB, {self._story.took()}")
        self.tick()

    def tick(self) -> None:
        """Tell how far it is."""
        if self._installing:
            done = min(len(_installed(self._packages) - self._before), self._total)
            self._story.status(f"installing, {done} of {_packages(self._total)} done")
            return
        self._weigh()
        self._story.status(f"{self._doing}, {self._mib:.0f} MiB")

    def _weigh(self) -> None:
        self._mib = max(self._mib, _size_mib(self._scratch))

    def done(self) -> None:
        """Tell its end."""
        self._story.line(f"installed {_packages(self._total)}, {self._story.took()}")


class Ticking:
    """Follows something that says nothing of how far it is, such as a compiler."""

    def __init__(self, story: Story, doing: str, minutes: str = "") -> None:
        self._story = story
        self._doing = doing
        self._usually = f" so far, takes about {minutes} min" if minutes else ""

    def hear(self, _line: str) -> None:
        """Its output goes to the log only."""

    def tick(self) -> None:
        """Tell that it is still at work."""
        self._story.status(self._doing, self._usually)


def reason(log: str) -> str:
    """The line of a failed run's output that says most: a compiler's first complaint, else pip's last."""
    lines = [line.strip() for line in log.splitlines()]
    complaints = [line for line in lines if COMPLAINT.search(line)]
    errors = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")]
    broken = filter(None, map(UNREACHED.search, lines))
    unreached = [found["retried"] or found["given_up"] for found in broken]
    if unreached and errors and errors[-1].startswith(NOT_FOUND):  # to pip that is an index without packages
        why = _innermost(unreached[-1])[:150]
        return f"a package index cannot be reached ({why}), so: {errors[-1][:100]}"
    told = complaints[:1] or errors[-1:] or [line for line in lines if line][-1:]
    return told[0][:300] if told else "it said nothing"


def _innermost(why: str) -> str:
    """What the last of nested errors says, without the objects that stand before it."""
    said = NESTED.split(why)[-1].strip("'\"()")
    return f"{said})" if said.count("(") > said.count(")") else said


def duration(seconds: float) -> str:
    """So many seconds, as a person would say it."""
    whole = round(seconds)
    return f"{whole} s" if whole < 60 else f"{whole // 60} min {whole % 60:02} s"


def _packages(count: int) -> str:
    return "1 package" if count == 1 else f"{count} packages"


def _installed(packages: Path) -> set[str]:
    try:
        return {name for name in os.listdir(packages) if name.endswith(".dist-info")}  # noqa: PTH208 - names do
    except OSError:
        return set()


def _size_mib(folder: Path) -> float:
    """What the files below a folder hold, in MiB."""
    size = 0
    for directory, _, names in os.walk(folder):
        for name in names:
            try:
                size += os.lstat(os.path.join(directory, name)).st_size  # noqa: PTH118 - many files
            except OSError:
                continue
    return size / MIB
