"""The environments that the backends declare, and the Python that a backend's engines run in."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

from backends.catalogue import BACKENDS
from backends.environment import Environment
from config.commands import with_runnable_commands
from engines.environments import manifest
from engines.environments.obstacles import obstacles_of

ENVIRONMENT_OF_BACKEND: Mapping[str, Environment] = {
    name: backend.environment for name, backend in BACKENDS.items() if backend.environment is not None
}
"""The environment of each backend that needs one. Two backends may share one."""

ENVIRONMENTS: Mapping[str, Environment] = {
    environment.name: environment for environment in ENVIRONMENT_OF_BACKEND.values()
}
"""The environments by name."""


class EnvironmentMissing(LookupError):
    """Raised when a runtime's libraries are not on this machine; the text says what to do."""


def interpreter(environments: Path, backend: str, configured: str | None = None) -> Path:
    """The Python of a backend's engines: the configured one (a path, or a program on PATH), else that of its
    environment in the folder `environments`, else Stoker's own if that has the library.

    Called at each load: it imports no library and starts no process. Raises `EnvironmentMissing`.
    """
    if configured is not None:
        found = shutil.which(configured)
        if found is None:
            raise EnvironmentMissing(f"there is no Python {configured}: correct the option, or leave it out")
        return Path(found)
    environment = ENVIRONMENT_OF_BACKEND.get(backend)
    if environment is None:
        return Path(sys.executable)
    folder = environments / environment.name
    installed = manifest.read(folder)
    if installed is not None and installed.runs(folder):
        return manifest.python_of(folder)
    if in_own_python(environment):
        return Path(sys.executable)
    name = environment.name
    if installed is not None:
        reason = f"the Python that the runtime {name} was installed with no longer exists"
    elif folder.exists():
        reason = f"the runtime {name} is not installed completely"
    else:
        reason = f"the runtime {name} is not installed here"
    obstacles = obstacles_of(environments, environment)
    if obstacles and all(obstacles.values()):  # the installation would be refused
        preferred = obstacles[environment.variants[0].name][0]
        raise EnvironmentMissing(f"{reason}, and cannot run on this machine: {preferred}")
    raise EnvironmentMissing(with_runnable_commands(f"{reason}: run `stoker runtimes install {name}`"))


def in_own_python(environment: Environment) -> bool:
    """Whether the Python that runs Stoker has the library."""
    return find_spec(environment.module) is not None
