"""The environments of the runtimes: one declarative table, and which backend runs in which.

vLLM, ExLlamaV3 and llama-cpp-python pin different builds of the same libraries, so each has an environment of
its own (docs/decisions/0010). An environment has a variant for each kind of machine, the preferred one first;
what one pins is the lock of its extra in pyproject.toml, which `make lock` makes.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent
PYTORCH_CPU = "https://download.pytorch.org/whl/cpu"

Version = tuple[int, ...]


@dataclass(frozen=True)
class Variant:
    """One way to make an environment: what is installed, and what the machine must have."""

    name: str
    """cpu or cuda."""

    lock: str
    """The file of its pins, relative to this folder."""

    extra: str
    """What the lock is made of, in pyproject.toml."""

    space_mib: int
    """What it takes of the disk while it is made, downloads included."""

    left_out: tuple[str, ...] = ()
    """Packages that others ask for and that are not locked."""

    index: str | None = None
    """Where pins of a local version (2.13.0+cpu) are looked for when the configured indexes lack them."""

    stands_for: str | None = None
    """The distribution under whose name the library looks itself up, where its own is another."""

    cmake_args: str = ""
    """How its library is compiled; whoever installs it may add to them in CMAKE_ARGS."""

    minutes: str = ""
    """How long it is compiled, about."""

    driver: Version | None = None
    """The CUDA that the NVIDIA driver must know."""

    nvcc: Version | None = None
    """The oldest CUDA compiler that will do."""

    @property
    def lock_path(self) -> Path:
        """The file of its pins."""
        return FOLDER / self.lock


@dataclass(frozen=True)
class Environment:
    """The libraries of one runtime."""

    name: str
    backends: tuple[str, ...]
    module: str
    """What is imported."""

    dists: tuple[str, ...]
    """Whose version is the library's: the first of these that is there."""

    check: str
    """What an environment must be able to import before it counts as installed."""

    variants: tuple[Variant, ...]
    compiled: str | None = None
    """The distribution that has no wheel and is compiled when it is installed."""

    compiles_itself: bool = False
    """It is compiled when it is first imported."""

    linux_only: bool = False

    before_python: Version | None = None
    """The first Python that it does not know."""

    def variant(self, name: str) -> Variant:
        """The variant of that name. Raises `LookupError` with those that exist."""
        for variant in self.variants:
            if variant.name == name:
                return variant
        there = " and ".join(variant.name for variant in self.variants)
        raise LookupError(f"the runtime {self.name} has no variant {name}; there is {there}")
