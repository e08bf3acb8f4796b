"""The manifest of an environment: `stoker.json` in its folder, written at the end of its installation.

An environment without a manifest is incomplete. An environment is outdated when its lock or its Python has
changed since: with another lock it still runs, without its Python it does not.
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
    """How an environment was installed.

    `version` is that of its library, `base` the interpreter that its Python links to, `lock_sha256` the
    digest of the lock that was installed.
    """

    name: str
    variant: str
    version: str
    python: str
    base: str
    lock_sha256: str
    made_at: str

    def write(self, folder: Path) -> None:
        """Write the manifest to the environment in `folder`, which then counts as installed."""
        draft = folder / f".{FILE}"
        draft.write_text(json.dumps(asdict(self), indent=2) + "\n", encoding="utf-8")
        draft.replace(folder / FILE)

    def runs(self, folder: Path) -> bool:
        """Whether the Python of the environment is still the one that it was installed with."""
        return base_of(folder) == self.base and os.access(python_of(folder), os.X_OK)

    def is_current(self, environment: Environment) -> bool:
        """Whether the lock of its variant is the one that was installed."""
        with suppress(LookupError):
            return self.lock_sha256 == digest(environment.variant(self.variant).lock_path)
        return False


def read(folder: Path) -> Manifest | None:
    """The manifest of the environment in `folder`; None when there is none that can be read."""
    try:
        return Manifest(**json.loads((folder / FILE).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None


def delete(folder: Path) -> None:
    """Delete the manifest, before the environment in `folder` is changed."""
    (folder / FILE).unlink(missing_ok=True)


def python_of(folder: Path) -> Path:
    """The Python of the environment in `folder`."""
    return folder / "bin" / "python"


def base_of(folder: Path) -> str:
    """The interpreter that an environment's Python links to, with all links resolved."""
    return os.path.realpath(python_of(folder))


def digest(lock: Path) -> str:
    """SHA-256 of a lock, in hex."""
    return hashlib.sha256(lock.read_bytes()).hexdigest()
