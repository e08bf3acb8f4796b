"""Whose Python an engine runs in."""

from __future__ import annotations

import shutil
import sys
from importlib.util import find_spec
from pathlib import Path

from backends.environment import Environment
from workers.environments import manifest
from workers.environments.table import OF_BACKEND


class EnvironmentMissing(LookupError):
    """Raised when the libraries of a runtime are not here; the text is one sentence that says what to do."""


def interpreter(environments: Path, backend: str, configured: str | None = None) -> Path:
    """The Python of a backend's engines: the configured one (a path, or a program on PATH), else that of its
    environment in the folder `environments`, else ours if it has the library.

    Called at each load: it imports no library and starts nothing. Raises `EnvironmentMissing`.
    """
    if configured is not None:
        found = shutil.which(configured)
        if found is None:
            raise EnvironmentMissing(f"there is no Python {configured}: correct the option, or leave it out")
        return Path(found)
    environment = OF_BACKEND.get(backend)
    if environment is None:
        return Path(sys.executable)
    folder = environments / environment.name
    made = manifest.read(folder)
    if made is not None and made.runs(folder):
        return manifest.python_of(folder)
    if ours(environment):
        return Path(sys.executable)
    name = environment.name
    if made is not None:
        raise EnvironmentMissing(
            f"the Python that the runtime {name} was made with has gone: run `stoker runtimes install {name}`"
        )
    if folder.exists():
        raise EnvironmentMissing(
            f"the runtime {name} was not installed to its end: run `stoker runtimes install {name}`"
        )
    raise EnvironmentMissing(
        f"the runtime {name} is not installed here: run `stoker runtimes install {name}`"
    )


def ours(environment: Environment) -> bool:
    """Whether our own Python has the library."""
    return find_spec(environment.module) is not None
