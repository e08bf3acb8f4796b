"""Reads a lock: the pinned packages, with their hashes, that apply to this Python and machine."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

HASH = re.compile(r"\s--hash=(\S+)")


@dataclass(frozen=True)
class Pin:
    """One package in one version; `hashes` are those of its wheels and source archives (`sha256:...`)."""

    name: str
    version: str
    hashes: tuple[str, ...] = ()

    def __str__(self) -> str:
        """The requirement without hashes."""
        return f"{self.name}=={self.version}"

    @property
    def requirement(self) -> str:
        """The line of a requirements file that installs it."""
        return _with_hashes(str(self), self.hashes)

    @property
    def is_local(self) -> bool:
        """Whether its version is a local one, such as 2.13.0+cpu, which PyPI does not have."""
        return "+" in self.version

    def wheels(self, folder: Path) -> list[Path]:
        """The wheels of this version in `folder` and below it."""
        return list(folder.rglob(f"{self.name.replace('-', '_')}-{self.version}-*.whl"))

    def wheel_requirement(self, wheel: Path) -> str:
        """The line of a requirements file that installs it from a local wheel."""
        digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
        return _with_hashes(f"{self.name} @ {wheel.resolve().as_uri()}", [f"sha256:{digest}"])


def pins(lock: Path) -> list[Pin]:
    """The pins of a lock whose markers are true for this Python."""
    text = re.sub(r"^\s*#.*$", "", lock.read_text(encoding="utf-8"), flags=re.MULTILINE)
    entries = [line.strip() for line in text.replace("\\\n", " ").splitlines() if line.strip()]
    parsed = [(Requirement(HASH.sub("", entry).strip()), tuple(HASH.findall(entry))) for entry in entries]
    return [
        Pin(canonicalize_name(requirement.name), next(iter(requirement.specifier)).version, hashes)
        for requirement, hashes in parsed
        if requirement.marker is None or requirement.marker.evaluate()
    ]


def _with_hashes(requirement: str, hashes: tuple[str, ...] | list[str]) -> str:
    return " ".join([requirement, *(f"--hash={value}" for value in hashes)])
