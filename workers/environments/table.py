"""The environments by name and by backend, collected from the backends' folders."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module

from backends.catalogue import NAMES
from backends.environment import Environment

OF_BACKEND: Mapping[str, Environment] = {
    name: environment
    for name in NAMES
    if (environment := import_module(f"backends.{name}.environment").ENVIRONMENT) is not None
}
"""The environment of each backend that needs one. Two backends may share one."""

ENVIRONMENTS: Mapping[str, Environment] = {
    environment.name: environment for environment in OF_BACKEND.values()
}
"""The environments by name."""
