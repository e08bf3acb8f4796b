"""Describes an environment: the libraries that a runtime needs, and what a machine needs for them.

vLLM, ExLlamaV3 and llama-cpp-python pin different builds of the same libraries, so each has an environment of
its own (docs/decisions/0010). An environment has a variant for each kind of machine, the preferred one first.
The packages of a variant are pinned, with hashes, in a lock; `make lock` compiles it from an extra in
pyproject.toml.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent
PYTORCH_CPU = "https://download.pytorch.org/whl/cpu"

Version = tuple[int, ...]


@dataclass(frozen=True)
class Variant:
    """One build of an environment: the packages that are installed, and what the machine must have."""

    name: str
    """cpu or cuda."""

    lock: str
    """The file with its pinned packages, relative to this folder."""

    extra: str
    """The extra in pyproject.toml that the lock is compiled from."""

    space_mib: int
    """Disk space that the installation takes, downloads included, in MiB."""

    left_out: tuple[str, ...] = ()
    """Packages that are not locked although other packages require them."""

    index: str | None = None
    """The index of local versions (such as 2.13.0+cpu), for when the configured indexes do not have them."""

    stands_for: str | None = None
    """The distribution name by which the library looks up its own version, if it is installed under another
    name."""

    cmake_args: str = ""
    """CMake arguments for its compiled package; those of the variable CMAKE_ARGS are added."""

    minutes: str = ""
    """About how many minutes it takes to compile, such as `5 to 10`."""

    driver: Version | None = None
    """The CUDA version that the NVIDIA driver must support."""

    nvcc: Version | None = None
    """The oldest version of the CUDA compiler that can compile it."""

    @property
    def lock_path(self) -> Path:
        """The path of the lock."""
        return FOLDER / self.lock


@dataclass(frozen=True)
class Environment:
    """The libraries of one runtime."""

    name: str
    backends: tuple[str, ...]
    module: str
    """The Python module of the library."""

    dists: tuple[str, ...]
    """Distribution names of the library; the version is that of the first one that is installed."""

    check: str
    """The modules that must import before the environment counts as installed, separated by commas."""

    variants: tuple[Variant, ...]
    compiled: str | None = None
    """The distribution that has no wheel and is compiled during the installation."""

    compiles_itself: bool = False
    """Whether the library compiles itself when it is first imported."""

    linux_only: bool = False

    before_python: Version | None = None
    """The first Python version that it does not support."""

    def variant(self, name: str) -> Variant:
        """The variant with this name. Raises `LookupError`, which names those that exist."""
        for variant in self.variants:
            if variant.name == name:
                return variant
        known = " and ".join(variant.name for variant in self.variants)
        raise LookupError(f"the runtime {self.name} has no variant {name}; it has {known}")
