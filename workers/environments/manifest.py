"""What an environment says of itself: `stoker.json` in its folder, written when all the rest is there.

An environment without one is half made. One whose pins or whose Python are no longer those it was made with
is outdated: with other pins it still runs, without its Python it does not.
"""

from __future__ import annotations

import hashlib
import json
import os
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from backends.environment import Environment

FILE = "stoker.json"


@dataclass(frozen=True)
class Manifest:
    """How an environment was made: `version` is the library's, `base` the Python that its own links to."""

    name: str
    variant: str
    version: str
    python: str
    base: str
    lock_sha256: str
    made_at: str

    def write(self, folder: Path) -> None:
        """Write it: from now on the environment counts as installed."""
        draft = folder / f".{FILE}"
        draft.write_text(json.dumps(asdict(self), indent=2) + "\n", encoding="utf-8")
        draft.replace(folder / FILE)

    def runs(self, folder: Path) -> bool:
        """Whether its Python is still the one it was made with."""
        return base_of(folder) == self.base and os.access(python_of(folder), os.X_OK)

    def is_current(self, environment: Environment) -> bool:
        """Whether it would be made with the same pins today."""
        with suppress(LookupError):
            return self.lock_sha256 == digest(environment.variant(self.variant).lock_path)
        return False


def read(folder: Path) -> Manifest | None:
    """The manifest of the environment in `folder`; None when there is none that can be read."""
    try:
        return Manifest(**json.loads((folder / FILE).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None


def forget(folder: Path) -> None:
    """Remove it: the environment is being changed."""
    (folder / FILE).unlink(missing_ok=True)


def python_of(folder: Path) -> Path:
    """The Python of the environment in `folder`."""
    return folder / "bin" / "python"


def base_of(folder: Path) -> str:
    """The program that an environment's Python is in truth."""
    return os.path.realpath(python_of(folder))


def digest(lock: Path) -> str:
    """SHA-256 of a lock, in hex."""
    return hashlib.sha256(lock.read_bytes()).hexdigest()
