"""Makes the definition of a model that is not configured: which backend runs an artifact, and with what."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Any

from backends.catalogue import BACKENDS
from backends.declaration import Backend
from config.settings import Settings
from fleet.artifacts.read import Artifact
from fleet.dynamic_model import DynamicModel, Origin, dynamic_model

MIB = 1024 * 1024


def allowed_backends(name: str, settings: Settings) -> list[str]:
    """The backends with a pattern of `governance.allow` that matches the name; none under `catalog_only`.

    Patterns are those of a shell: `*` also matches slashes; case counts.
    """
    if settings.governance.models != "allow":
        return []
    return [
        backend
        for backend, patterns in settings.governance.allow.items()
        if backend in BACKENDS and any(fnmatchcase(name, pattern) for pattern in patterns)
    ]


def backends_for(form: str) -> list[Backend]:
    """The backends that run weights of this form, the preferred one first."""
    fitting = [backend for backend in BACKENDS.values() if form in backend.parameters.forms]
    return sorted(fitting, key=lambda backend: backend.parameters.rank)


def choose_backend(form: str, allowed: list[str], settings: Settings) -> Backend | None:
    """The preferred one of the allowed backends for weights of this form; None if none is allowed.

    Those whose environment is installed on this host come first. Where none is, engines run on other hosts.
    """
    fitting = [backend for backend in backends_for(form) if backend.name in allowed]
    installed = [backend for backend in fitting if _is_installed(backend, settings)]
    return next(iter(installed or fitting), None)


def define(
    name: str, backend: Backend, artifact: Artifact, origin: Origin, settings: Settings
) -> DynamicModel:
    """The model of an artifact. Raises `ConfigError`."""
    configuration: Mapping[str, Any] = {
        "backend": backend.name,
        "target_inflight": backend.parameters.slots,
        **backend.parameters.defaults.get(artifact.weights.architecture, {}),
    }
    size_mib = -(-artifact.weights.size_bytes // MIB)
    return replace(dynamic_model(name, configuration, origin, size_mib, settings), shape=artifact.shape)


def _is_installed(backend: Backend, settings: Settings) -> bool:
    environment = backend.environment
    return environment is None or (settings.runtimes_dir / environment.name / "bin").is_dir()
