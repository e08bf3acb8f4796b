"""The check of a model's options before its engine is started."""

from __future__ import annotations

from backends.base import LoadError
from backends.catalogue import BACKENDS
from config.settings import ModelDefinition


def check_options(model: ModelDefinition) -> None:
    """Refuse options that the backend does not have, or that contradict each other.

    Raises `LoadError` (load_failed).
    """
    backend = BACKENDS[model.backend]
    if unknown := [name for name in model.options if backend.option(name) is None]:
        raise LoadError("load_failed", f"there is no option {min(unknown)}")
    for options, problem in backend.contradicting(model.options):
        raise LoadError("load_failed", f"{options[0]} {problem}")
