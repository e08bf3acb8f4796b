"""The environments by backend and by name, from the backends' declarations."""

from __future__ import annotations

from collections.abc import Mapping

from backends.catalogue import BACKENDS
from backends.environment import Environment

OF_BACKEND: Mapping[str, Environment] = {
    name: backend.environment for name, backend in BACKENDS.items() if backend.environment is not None
}
"""The environment of each backend that needs one. Two backends may share one."""

ENVIRONMENTS: Mapping[str, Environment] = {
    environment.name: environment for environment in OF_BACKEND.values()
}
"""The environments by name."""
