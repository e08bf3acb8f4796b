"""Where an engine finds its libraries: the Python that has them, and folders of shared ones."""

from __future__ import annotations

import os
from pathlib import Path

from backends.base import LoadError
from workers.environments import EnvironmentMissing, interpreter


def python_of(
    environments: Path, backend: str, configured: str | None = None, *, otherwise: str = ""
) -> Path:
    """The interpreter of a backend's engines (see `workers.environments`).

    Raises `LoadError` (load_failed), with what else can be done in `otherwise`.
    """
    try:
        return interpreter(environments, backend, configured)
    except EnvironmentMissing as error:
        raise LoadError("load_failed", f"{error}{otherwise}") from error


def library_path(*folders: Path) -> dict[str, str]:
    """The variable that makes an engine look into these folders first; none when there are none."""
    if not folders:
        return {}
    inherited = os.environ.get("LD_LIBRARY_PATH")
    return {"LD_LIBRARY_PATH": os.pathsep.join(filter(None, [*map(str, folders), inherited]))}
