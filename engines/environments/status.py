"""The state of each backend's environment on this machine, and the variant to install."""

from __future__ import annotations

import importlib.metadata
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from backends.catalogue import BACKENDS
from backends.environment import Environment, Variant
from engines.environments import manifest
from engines.environments.install import reinstall_reason
from engines.environments.obstacles import obstacles_of
from engines.environments.python import ENVIRONMENT_OF_BACKEND, ENVIRONMENTS, in_own_python
from engines.environments.request import InstallRequest

INSTALLED, OUTDATED, MISSING = "installed", "outdated", "missing"
NOT_NEEDED, CANNOT_RUN = "not needed", "cannot run here"


@dataclass(frozen=True)
class EnvironmentStatus:
    """The environment of one backend.

    `where` is the folder of its libraries and `note` a remark. `obstacles` are the reasons why a variant
    cannot run on this machine, by variant: one without reasons can be installed, or runs if it is installed.
    """

    backend: str
    state: str
    environment: str | None = None
    variant: str | None = None
    version: str | None = None
    where: str | None = None
    note: str | None = None
    obstacles: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def environment_statuses(runtimes: Path) -> list[EnvironmentStatus]:
    """The status of each backend's environment in the folder `runtimes`."""
    statuses = {name: _status(runtimes, environment) for name, environment in ENVIRONMENTS.items()}
    return [
        replace(statuses[ENVIRONMENT_OF_BACKEND[backend].name], backend=backend)
        if backend in ENVIRONMENT_OF_BACKEND
        else EnvironmentStatus(backend, NOT_NEEDED)
        for backend in BACKENDS
    ]


def choose_variant(runtimes: Path, environment: Environment) -> Variant:
    """The variant to install: the installed one, else the first that can run here, else the preferred one."""
    installed = manifest.read(runtimes / environment.name)
    if installed is not None:
        with suppress(LookupError):
            return environment.variant(installed.variant)
    reasons = obstacles_of(runtimes, environment)
    return next(
        (variant for variant in environment.variants if not reasons[variant.name]), environment.variants[0]
    )


def _status(runtimes: Path, environment: Environment) -> EnvironmentStatus:
    folder = runtimes / environment.name
    installed = manifest.read(folder)
    status = EnvironmentStatus("", MISSING, environment.name, obstacles=obstacles_of(runtimes, environment))
    if installed is not None:
        status = replace(status, variant=installed.variant, version=installed.version, where=str(folder))
        again = reinstall_reason(
            installed, InstallRequest(environment, choose_variant(runtimes, environment), runtimes)
        )
        return replace(status, state=OUTDATED if again else INSTALLED, note=again)
    if in_own_python(environment):
        note = "a part of Stoker's own environment"
        return replace(status, state=INSTALLED, version=own_version(environment), where=sys.prefix, note=note)
    if all(status.obstacles.values()):
        return replace(status, state=CANNOT_RUN)
    if folder.exists():
        return replace(status, note="its installation was not completed")
    return status


def own_version(environment: Environment) -> str | None:
    """The version of the library of an environment in the Python that runs Stoker."""
    for name in environment.dists:
        with suppress(importlib.metadata.PackageNotFoundError):
            return importlib.metadata.version(name)
    return None
