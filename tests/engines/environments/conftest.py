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
from engines.environments.request import InstallRequest
from tests.engines.environments.index import Index, published_hashes


@dataclass
class RecordedProgress:
    """The lines and statuses that were shown, in order."""

    lines: list[str] = field(default_factory=list)
    statuses: list[str] = field(default_factory=list)

    def line(self, text: str) -> None:
        self.lines.append(text)

    def status(self, text: str) -> None:
        self.statuses.append(text)


class Harness:
    """A folder of environments, an index, and the runtime `tiny`, whose library is the module tinylib."""

    def __init__(self, folder: Path) -> None:
        self.runtimes = folder / "runtimes"
        self.index = Index(folder / "index")
        self.lock = folder / "tiny.txt"

    def tiny(self, *pins: str, variant: Variant | None = None, **fields: object) -> Environment:
        """The runtime with these pins, each locked with the hashes of its published files."""
        locked = [
            " \\\n".join([pin, *(f"    --hash={each}" for each in published_hashes(pin))]) for pin in pins
        ]
        self.lock.write_text("# by hand\n" + "\n".join(locked) + "\n")
        defaults = {"module": "tinylib", "dists": ("tinylib",), "check": "tinylib"}
        variants = (variant or self.variant(),)
        return Environment("tiny", ("tiny",), variants=variants, **{**defaults, **fields})  # type: ignore[arg-type]

    def variant(self, **fields: object) -> Variant:
        return replace(Variant("cpu", str(self.lock), "tiny", space_mib=50), **fields)  # type: ignore[arg-type]

    def request(self, environment: Environment, *, force: bool = False) -> InstallRequest:
        variant = environment.variants[0]
        progress = RecordedProgress()
        return InstallRequest(environment, variant, self.runtimes, progress, status_every_s=0, force=force)

    @property
    def folder(self) -> Path:
        return self.runtimes / "tiny"

    def python(self, code: str) -> str:
        """What the environment's Python prints."""
        argv = [self.folder / "bin" / "python", "-I", "-c", code]
        return subprocess.run(argv, capture_output=True, text=True, check=True).stdout.strip()


@contextmanager
def isolated_harness(folder: Path) -> Iterator[Harness]:
    """A harness with the only index that pip's configuration names. uv has no configuration and no cache."""
    made = Harness(folder)
    with pytest.MonkeyPatch.context() as patch:
        for name in [*filter(lambda name: name.startswith(("PIP_", "UV_")), os.environ), "CMAKE_ARGS"]:
            patch.delenv(name, raising=False)
        patch.setenv("PIP_CONFIG_FILE", os.devnull)
        patch.setenv("PIP_NO_CACHE_DIR", "1")
        patch.setenv("PIP_INDEX_URL", made.index.url)
        patch.setenv("UV_NO_CONFIG", "1")
        yield made


@pytest.fixture(scope="module")
def shared_harness(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Harness]:
    """One for all tests of a module."""
    with isolated_harness(tmp_path_factory.mktemp("harness")) as made:
        yield made


@pytest.fixture
def harness(tmp_path: Path) -> Iterator[Harness]:
    """One for a single test."""
    with isolated_harness(tmp_path) as made:
        yield made
