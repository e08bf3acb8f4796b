"""The request for a load and its validation, and the outcome of a load or unload."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson

from backends.catalogue import BACKENDS, backends_with_option
from config.settings import ModelDefinition
from fleet.dynamic_model import DynamicModel
from fleet.errors import InvalidLoadRequest
from fleet.operation import Operation


@dataclass(frozen=True, slots=True)
class LoadRequest:
    """The parameters of a load.

    `replicas` is None for the configured number. `override` replaces configured options field by field; a
    value of None counts as a value. `evict` names a model that is unloaded first.

    `mapped` are options of the backend that follow from the parameters of the Model Runner API; they are
    stored with the override. `need_mib` is the memory of a replica that follows from them, before it was
    measured. `dynamic` defines a model that is not configured: the load adds it to the catalogue.
    `parameters` are their names there. `asked` is the override before `LoadService.checked` completed it.
    """

    replicas: int | None = None
    override: Mapping[str, Any] = field(default_factory=dict)
    evict: str | None = None
    mapped: Mapping[str, Any] = field(default_factory=dict)
    asked: Mapping[str, Any] = field(default_factory=dict)
    parameters: tuple[str, ...] = ()
    need_mib: int | None = None
    dynamic: DynamicModel | None = None

    def last_load(self) -> bytes:
        """What a checked request asks for, as the model's `last_load` in Redis."""
        return orjson.dumps({"replicas": self.replicas, "override": dict(self.asked)})

    @property
    def is_specified(self) -> bool:
        """Whether the request differs from the configuration in replicas or options."""
        return self.replicas is not None or bool(self.override)


@dataclass(frozen=True, slots=True)
class Assignment:
    """A replica and the worker that has to start, stop or flush it.

    Of a download and a removal, `replica` is the operation's id: they concern files.
    """

    replica: str
    worker: str


@dataclass(frozen=True, slots=True)
class LoadOutcome:
    """The result of a request to load or unload a model, or to flush caches.

    `kind` is that of the operation (`load`, ...). `assignments` names the workers to notify; it is empty if
    nothing has to be done yet. `begun` is whether this call began the operation. `eviction` is the unload of
    another model that has to end first, `cancelled` the load that this call cancelled.
    """

    kind: str
    operation: Operation | None
    assignments: tuple[Assignment, ...] = ()
    begun: bool = False
    eviction: LoadOutcome | None = None
    cancelled: Operation | None = None


@dataclass(frozen=True, slots=True)
class ReplicaStart:
    """A replica that a worker has to start: its model, and the override of this load.

    `operation` is the load that it belongs to, "" if the platform replaces a replica without one.
    """

    model: str
    override: Mapping[str, Any]
    operation: str = ""


AS_CONFIGURED = LoadRequest()


def assign_replicas(model: str, operation: str, workers: Sequence[str]) -> tuple[Assignment, ...]:
    """Assign one new replica to each of `workers`; the names are unique for this operation."""
    unique = operation.partition("_")[2][:8]
    return tuple(Assignment(f"{model}#{unique}.{index}", worker) for index, worker in enumerate(workers))


def assignment_arguments(assignments: Sequence[Assignment]) -> list[str]:
    """The assignments as arguments of a script: replica, worker, ..."""
    return [item for one in assignments for item in (one.replica, one.worker)]


def parse_assignments(items: Sequence[str]) -> tuple[Assignment, ...]:
    """Parse replica, worker, ... of a script's answer."""
    return tuple(Assignment(*pair) for pair in zip(items[::2], items[1::2], strict=True))


def mib_argument(mib: int | None) -> str | int:
    """A size as an argument of a script: "" if it is unknown."""
    return "" if mib is None else mib


def check_override(model: ModelDefinition, override: Mapping[str, Any]) -> None:
    """Raise `InvalidLoadRequest` (Runtime Admin API: 400) for values that have the right type and are wrong.

    These are: fields of another backend, values that are not allowed or above a maximum, fields that require
    or exclude each other, values that contradict other options in force, fields without effect because
    neither the load nor the configuration sets the field or the file that they need.
    """
    backend = BACKENDS[model.backend]
    for name, value in override.items():
        option = backend.option(name)
        if option is None or option.load_field is None:
            raise InvalidLoadRequest(_unknown_field(model, name), param=name)
        if (problem := option.problem(value)) is not None:
            raise InvalidLoadRequest(f"{name} {problem}", param=name)
    for name, problem in backend.problems(override):
        raise InvalidLoadRequest(f"{name} {problem}", param=name)
    in_force = backend.merged(model.options, override)
    for names, problem in backend.contradicting(in_force):
        if (param := next((name for name in names if name in override), None)) is not None:
            raise InvalidLoadRequest(f"{names[0]} {problem}", param=param)
    for name, problem in backend.ineffective(in_force):
        if name not in override:
            continue
        needed = backend.option(backend.needs[name])
        if needed is None or (needed.load_field is None and not needed.artifact):
            continue  # `vllm_image_input`: the specification's example sets vllm_max_pixels for every model
        if needed.load_field is None:
            reason = (
                f"does nothing without {needed.name}, which only the configuration of {model.name} can set"
            )
        else:
            reason = problem
        raise InvalidLoadRequest(f"{name} {reason}", param=name)


def check_replicas(model: ModelDefinition, replicas: int) -> None:
    """Raise `InvalidLoadRequest` if the number of replicas is not from 1 to the model's `replica_max`."""
    if not 1 <= replicas <= model.replica_max:
        allowed = "1" if model.replica_max == 1 else f"from 1 to {model.replica_max}"
        raise InvalidLoadRequest(
            f"replicas must be {allowed} for {model.name}, its replica_max", param="replicas"
        )


def _unknown_field(model: ModelDefinition, name: str) -> str:
    backends = backends_with_option(name)
    owner = f"belongs to {' and '.join(backends)}" if backends else "is not known"
    fields = ", ".join(BACKENDS[model.backend].load_fields) or "no field"
    return f"{name} {owner}; {model.name} runs on {model.backend}, for which a load may set {fields}"
