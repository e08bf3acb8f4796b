"""A runtime of the tests' own, with a lock and an index of packages on the disk; no network."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from backends.environment import Environment, Variant
from tests.workers.environments.index import Index
from workers.environments.request import Order


@dataclass
class Heard:
    """What was told, in order."""

    lines: list[str] = field(default_factory=list)
    statuses: list[str] = field(default_factory=list)

    def line(self, text: str) -> None:
        self.lines.append(text)

    def status(self, text: str) -> None:
        self.statuses.append(text)


class House:
    """A folder of environments, an index, and the runtime `tiny`, whose library is the module tinylib."""

    def __init__(self, folder: Path) -> None:
        self.runtimes = folder / "runtimes"
        self.index = Index(folder / "index")
        self.lock = folder / "tiny.txt"
        self.heard = Heard()

    def tiny(self, *pins: str, variant: Variant | None = None, **fields: object) -> Environment:
        """The runtime with these pins."""
        self.lock.write_text("# by hand\n" + "\n".join(pins) + "\n")
        plain = {"module": "tinylib", "dists": ("tinylib",), "check": "tinylib"}
        variants = (variant or self.variant(),)
        return Environment("tiny", ("tiny",), variants=variants, **{**plain, **fields})  # type: ignore[arg-type]

    def variant(self, **fields: object) -> Variant:
        return replace(Variant("cpu", str(self.lock), "tiny", space_mib=50), **fields)  # type: ignore[arg-type]

    def order(self, environment: Environment, *, force: bool = False) -> Order:
        self.heard = Heard()
        return Order(environment, environment.variants[0], self.runtimes, self.heard, every_s=0, force=force)

    @property
    def folder(self) -> Path:
        return self.runtimes / "tiny"

    def python(self, code: str) -> str:
        """What the environment's Python prints."""
        argv = [self.folder / "bin" / "python", "-I", "-c", code]
        return subprocess.run(argv, capture_output=True, text=True, check=True).stdout.strip()


@contextmanager
def furnished(folder: Path) -> Iterator[House]:
    """A house whose index is the only one that pip knows."""
    made = House(folder)
    with pytest.MonkeyPatch.context() as patch:
        for name in [*filter(lambda name: name.startswith("PIP_"), os.environ), "CMAKE_ARGS"]:
            patch.delenv(name, raising=False)
        patch.setenv("PIP_CONFIG_FILE", os.devnull)
        patch.setenv("PIP_NO_CACHE_DIR", "1")
        patch.setenv("PIP_INDEX_URL", made.index.url)
        yield made


@pytest.fixture(scope="module")
def shared_house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """One for all tests of a file."""
    with furnished(tmp_path_factory.mktemp("house")) as made:
        yield made


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    """One for a test."""
    with furnished(tmp_path) as made:
        yield made
