"""The request to install an environment."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, field
from pathlib import Path

from backends.environment import Environment, Variant
from engines.environments.machine import gpu_architectures
from engines.environments.pins import Pin, pins
from engines.environments.progress import NoProgress, ProgressSink

WHEELS = "wheels"
ARCHITECTURES = "CMAKE_CUDA_ARCHITECTURES"


@dataclass(frozen=True)
class InstallRequest:
    """One environment in one variant, to be installed in the folder `runtimes`.

    `progress` shows how far the installation is, with a new status at most every `status_every_s` seconds.
    With `force` it is installed even if it is already there, and even if this machine cannot run it.
    """

    environment: Environment
    variant: Variant
    runtimes: Path
    progress: ProgressSink = field(default_factory=NoProgress)
    status_every_s: float = 0.2
    force: bool = False

    @property
    def name(self) -> str:
        """The name of the environment."""
        return self.environment.name

    @property
    def folder(self) -> Path:
        """The folder of the environment."""
        return self.runtimes / self.name

    @property
    def log(self) -> Path:
        """The file with the output of all programs that the installation runs."""
        return self.runtimes / f"{self.name}.log"

    @property
    def pins(self) -> list[Pin]:
        """The packages that are installed."""
        return pins(self.variant.lock_path)

    @property
    def cmake_args(self) -> str:
        """The variant's CMake arguments, followed by `added_cmake_args`."""
        return f"{self.variant.cmake_args} {self.added_cmake_args}".strip()

    @property
    def added_cmake_args(self) -> str:
        """The CMake arguments of the variable CMAKE_ARGS, and this machine's GPU architectures.

        CUDA code is compiled for these alone, unless CMAKE_ARGS or CMake's own CUDAARCHS names others: for
        all that llama.cpp supports, it takes several times as long and as much space.
        """
        given = os.environ.get("CMAKE_ARGS", "").strip()
        if self.variant.nvcc is None or ARCHITECTURES in given or os.environ.get("CUDAARCHS"):
            return given
        found = ";".join(gpu_architectures())
        return f"-D{ARCHITECTURES}={found} {given}".strip() if found else given

    @property
    def wheels(self) -> Path:
        """The folder of the wheels that were compiled with these CMake arguments."""
        added = self.added_cmake_args
        suffix = f"-{hashlib.sha256(added.encode()).hexdigest()[:8]}" if added else ""
        return self.runtimes / WHEELS / f"{self.variant.name}{suffix}"

    @property
    def compiled_pin(self) -> Pin | None:
        """The package that has no wheel on the indexes and is compiled on this machine; None when there is
        none."""
        if self.environment.compiled is None:
            return None
        return next(pin for pin in self.pins if pin.name == self.environment.compiled)

    @property
    def is_built(self) -> bool:
        """Whether the package that is compiled has a wheel already."""
        return self.compiled_pin is not None and bool(self.compiled_pin.wheels(self.wheels))
