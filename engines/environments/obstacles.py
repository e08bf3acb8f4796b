"""The reasons why the variants of an environment cannot run on this machine."""

from __future__ import annotations

from pathlib import Path

from backends.environment import Environment
from engines.environments import manifest
from engines.environments.machine import obstacles
from engines.environments.request import InstallRequest


def obstacles_of(runtimes: Path, environment: Environment) -> dict[str, tuple[str, ...]]:
    """Why each variant cannot run on this machine, one sentence each. The installed one needs no compiler."""
    installed = manifest.read(runtimes / environment.name)
    compiled = installed.variant if installed is not None and environment.compiled else None
    requests = {
        variant.name: InstallRequest(environment, variant, runtimes) for variant in environment.variants
    }
    return {
        name: tuple(obstacles(environment, request.variant, built=request.is_built or name == compiled))
        for name, request in requests.items()
    }
