"""Chooses the backend that runs the files of a model that is not configured."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from importlib.util import find_spec

from backends.catalogue import BACKENDS
from backends.declaration import Backend
from config.settings import Settings


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


def choose_backend(
    form: str, allowed: Sequence[str] | None, settings: Settings, *, has_gpu: bool = False
) -> Backend | None:
    """The preferred one of the allowed backends (None: all) for weights of this form; None if none is.

    Those whose runtime is on this host come first, then, beside a GPU, those that compute on it. Where none
    is installed, engines run on other hosts.
    """
    fitting = [backend for backend in backends_for(form) if allowed is None or backend.name in allowed]

    def preference(backend: Backend) -> tuple[bool, bool, int]:
        place = installed_at(backend, settings)
        return place is None, not runs_on(backend, "cuda" if has_gpu else "cpu"), place or 0

    return min(fitting, key=preference, default=None)


def installed_at(backend: Backend, settings: Settings) -> int | None:
    """0: the backend's environment is on this host; 1: Stoker's own Python has its library; None: neither."""
    environment = backend.environment
    if environment is None or (settings.runtimes_dir / environment.name / "bin").is_dir():
        return 0
    return 1 if find_spec(environment.module) is not None else None


def runs_on(backend: Backend, kind: str) -> bool:
    """Whether a build of the backend's environment computes on this kind of device (cpu, cuda)."""
    environment = backend.environment
    return environment is None or any(variant.name == kind for variant in environment.variants)
