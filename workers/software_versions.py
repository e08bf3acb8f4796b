"""The versions of what a worker runs with: Stoker, Python, the GPU's driver, the backends' environments."""

from __future__ import annotations

import platform
from contextlib import suppress
from pathlib import Path
from typing import Any

from config.version import version
from engines.environments import manifest
from engines.environments.python import ENVIRONMENTS, in_own_python
from engines.environments.status import own_version
from engines.nvml import Driver, DriverError, device_type


def software_versions(runtimes: Path) -> dict[str, Any]:
    """The versions, read once at the start of a worker. `runtimes` has the environments.

    `driver` is None on a worker without a GPU that can be read. `environments` has those that are installed.
    """
    return {
        "stoker": version(),
        "python": platform.python_version(),
        "driver": _driver_version() if device_type() == "cuda" else None,
        "environments": dict(filter(None, (_installed(runtimes, name) for name in ENVIRONMENTS))),
    }


def _installed(runtimes: Path, name: str) -> tuple[str, str] | None:
    found = manifest.read(runtimes / name)
    if found is not None:
        return name, found.version
    if in_own_python(ENVIRONMENTS[name]) and (version := own_version(ENVIRONMENTS[name])):
        return name, version
    return None


def _driver_version() -> str | None:
    driver = Driver()
    try:
        with suppress(DriverError):
            return driver.query(lambda nvml: str(nvml.nvmlSystemGetDriverVersion()))
        return None
    finally:
        driver.close()
