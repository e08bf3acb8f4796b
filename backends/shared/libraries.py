"""The Python interpreter and the shared libraries that an engine process uses."""

from __future__ import annotations

import os
from pathlib import Path

from backends.base import LoadError
from workers.environments import EnvironmentMissing, interpreter


def python_of(
    environments: Path, backend: str, configured: str | None = None, *, otherwise: str = ""
) -> Path:
    """Return the interpreter for a backend's engines: the configured one, or that of its environment.

    `environments` is the folder of the environments (see `workers.environments`). Raises `LoadError`
    (load_failed); `otherwise` is appended to its message, to name an alternative.
    """
    try:
        return interpreter(environments, backend, configured)
    except EnvironmentMissing as error:
        raise LoadError("load_failed", f"{error}{otherwise}") from error


def library_path(*folders: Path) -> dict[str, str]:
    """Return LD_LIBRARY_PATH with these folders before the inherited ones; empty without folders."""
    if not folders:
        return {}
    inherited = os.environ.get("LD_LIBRARY_PATH")
    return {"LD_LIBRARY_PATH": os.pathsep.join(filter(None, [*map(str, folders), inherited]))}
