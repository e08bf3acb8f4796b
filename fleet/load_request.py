"""What a load asks for, and what a load or unload came to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fleet.operation import Operation


@dataclass(frozen=True, slots=True)
class LoadRequest:
    """What a load asks for. None takes what is configured; `override` counts by key, null included.

    `evict` is a model to be unloaded first.
    """

    replicas: int | None = None
    override: Mapping[str, Any] = field(default_factory=dict)
    evict: str | None = None

    @property
    def asks(self) -> bool:
        """Whether it asks for anything but the configuration."""
        return self.replicas is not None or bool(self.override)


@dataclass(frozen=True, slots=True)
class Assignment:
    """A replica and the worker that shall start or stop it."""

    replica: str
    worker: str


@dataclass(frozen=True, slots=True)
class LoadOutcome:
    """What a load or unload came to: its operation, and whom to tell. Nobody, when nothing had to be done.

    `kind` is load or unload, `begun` whether this call began it, `first` the unload that has to come before.
    """

    kind: str
    operation: Operation | None
    assignments: tuple[Assignment, ...] = ()
    begun: bool = False
    first: LoadOutcome | None = None


@dataclass(frozen=True, slots=True)
class ReplicaStart:
    """A replica that a worker takes up: the model, and what this load changes of its options."""

    model: str
    override: Mapping[str, Any]


NOTHING = LoadRequest()


def assigned(model: str, operation: str, places: Sequence[str]) -> tuple[Assignment, ...]:
    """The replicas of an operation, one on each of these workers, under names of their own."""
    unique = operation.partition("_")[2][:8]
    return tuple(Assignment(f"{model}#{unique}.{index}", worker) for index, worker in enumerate(places))


def pairs(assignments: Sequence[Assignment]) -> list[str]:
    """The same as arguments of a script: replica, worker, ..."""
    return [item for one in assignments for item in (one.replica, one.worker)]


def mib_text(mib: int | None) -> str | int:
    """A size as an argument of a script; "" when it is not known."""
    return "" if mib is None else mib
