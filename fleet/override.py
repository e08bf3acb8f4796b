"""What a load asks for besides the configuration, and whether the model's backend knows it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from backends.catalogue import BACKENDS, backends_with_option
from config.settings import ModelDefinition
from fleet.errors import InvalidLoadRequest


def check_override(model: ModelDefinition, override: Mapping[str, Any]) -> None:
    """Raise `InvalidLoadRequest` (Runtime Admin API: 400) when values of the right type are wrong anyway.

    That is: fields of another backend, values that are not allowed or over a maximum, fields that go together
    or exclude each other, fields that do nothing without another one that the load does not set.
    """
    backend = BACKENDS[model.backend]
    for name, value in override.items():
        option = backend.option(name)
        if option is None or option.load_field is None:
            raise InvalidLoadRequest(_stranger(model, name), param=name)
        if (problem := option.problem(value)) is not None:
            raise InvalidLoadRequest(f"{name} {problem}", param=name)
    for name, problem in backend.problems(override):
        raise InvalidLoadRequest(f"{name} {problem}", param=name)
    # a load may turn the other off and leave this; one that no load can set is not the load's mistake
    right = backend.load_fields.keys() - override.keys()
    for name, problem in backend.ineffective(backend.merged(model.options, override)):
        if name in override and backend.needs[name] in right:
            raise InvalidLoadRequest(f"{name} {problem}", param=name)


def check_replicas(model: ModelDefinition, replicas: int) -> None:
    """Raise `InvalidLoadRequest` when so many may not be loaded."""
    if not 1 <= replicas <= model.replica_max:
        raise InvalidLoadRequest(
            f"replicas must be from 1 to {model.replica_max} (replica_max) for {model.name}", param="replicas"
        )


def _stranger(model: ModelDefinition, name: str) -> str:
    others = backends_with_option(name)
    whose = f"belongs to {' and '.join(others)}" if others else "is not known"
    return f"{name} {whose}; {model.name} runs on {model.backend}"
