"""The pins of a lock, as far as they apply to this machine."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name


@dataclass(frozen=True)
class Pin:
    """One package in one version."""

    name: str
    version: str

    def __str__(self) -> str:
        """As pip takes it."""
        return f"{self.name}=={self.version}"

    @property
    def is_local(self) -> bool:
        """Whether it is somebody's own build of a version, such as 2.13.0+cpu."""
        return "+" in self.version

    def wheels(self, folder: Path) -> list[Path]:
        """The wheels of it in a folder."""
        return list(folder.glob(f"{self.name.replace('-', '_')}-{self.version}-*.whl"))


def pins(lock: Path) -> list[Pin]:
    """What is installed from a lock here."""
    lines = [line.partition("#")[0].strip() for line in lock.read_text(encoding="utf-8").splitlines()]
    wanted = [Requirement(line) for line in lines if line]
    return [
        Pin(canonicalize_name(each.name), next(iter(each.specifier)).version)
        for each in wanted
        if each.marker is None or each.marker.evaluate()
    ]
