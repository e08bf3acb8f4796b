"""What is to be made, where, and who is told."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, field
from pathlib import Path

from backends.environment import Environment, Variant
from workers.environments.pins import Pin, pins
from workers.environments.pip_progress import Say, Silence

WHEELS = "wheels"


@dataclass(frozen=True)
class Order:
    """One environment in one variant, in the folder `runtimes`.

    `say` is told how far it is, a status at most every `every_s` seconds. With `force` it is made even if it
    is there already, and even where it cannot run.
    """

    environment: Environment
    variant: Variant
    runtimes: Path
    say: Say = field(default_factory=Silence)
    every_s: float = 0.2
    force: bool = False

    @property
    def name(self) -> str:
        """The environment's."""
        return self.environment.name

    @property
    def folder(self) -> Path:
        """Where it is made."""
        return self.runtimes / self.name

    @property
    def log(self) -> Path:
        """Where all that is said meanwhile is kept."""
        return self.runtimes / f"{self.name}.log"

    @property
    def pins(self) -> list[Pin]:
        """What is installed."""
        return pins(self.variant.lock_path)

    @property
    def cmake_args(self) -> str:
        """How it is compiled: the variant's own way, and what whoever installs it adds."""
        return f"{self.variant.cmake_args} {os.environ.get('CMAKE_ARGS', '')}".strip()

    @property
    def wheels(self) -> Path:
        """Where wheels that were built in this way are kept: another way, another folder."""
        added = os.environ.get("CMAKE_ARGS", "").strip()
        mark = f"-{hashlib.sha256(added.encode()).hexdigest()[:8]}" if added else ""
        return self.runtimes / WHEELS / f"{self.variant.name}{mark}"

    @property
    def is_built(self) -> bool:
        """Whether a wheel of what it compiles is there already."""
        return any(pin.wheels(self.wheels) for pin in self.pins if pin.name == self.environment.compiled)
