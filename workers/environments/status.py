"""What is here: for each backend its environment, its state, and why it cannot run."""

from __future__ import annotations

import importlib.metadata
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from backends.catalogue import BACKENDS
from backends.environment import Environment, Variant
from workers.environments import manifest
from workers.environments.install import why_again
from workers.environments.machine import obstacles
from workers.environments.python import ours
from workers.environments.request import Order
from workers.environments.table import ENVIRONMENTS, OF_BACKEND

INSTALLED, OUTDATED, MISSING = "installed", "outdated", "missing"
NOT_NEEDED, CANNOT_RUN = "not needed", "cannot run here"


@dataclass(frozen=True)
class Row:
    """What one backend has.

    `where` is the folder of its libraries, `note` what else is to be known, and `obstacles` why a variant
    cannot run here, by variant: one without any can be installed, or runs if it is the installed one.
    """

    backend: str
    state: str
    environment: str | None = None
    variant: str | None = None
    version: str | None = None
    where: str | None = None
    note: str | None = None
    obstacles: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def survey(runtimes: Path) -> list[Row]:
    """A row for each backend."""
    rows = {name: _row(runtimes, environment) for name, environment in ENVIRONMENTS.items()}
    return [
        replace(rows[OF_BACKEND[backend].name], backend=backend)
        if backend in OF_BACKEND
        else Row(backend, NOT_NEEDED)
        for backend in BACKENDS
    ]


def choose(runtimes: Path, environment: Environment) -> Variant:
    """The variant to install: the one that is there, else the first that can run here, else the preferred."""
    made = manifest.read(runtimes / environment.name)
    if made is not None:
        with suppress(LookupError):
            return environment.variant(made.variant)
    why = obstacles_of(runtimes, environment)
    return next(
        (variant for variant in environment.variants if not why[variant.name]), environment.variants[0]
    )


def _row(runtimes: Path, environment: Environment) -> Row:
    folder = runtimes / environment.name
    made = manifest.read(folder)
    row = Row("", MISSING, environment.name, obstacles=obstacles_of(runtimes, environment))
    if made is not None:
        row = replace(row, variant=made.variant, version=made.version, where=str(folder))
        again = why_again(made, Order(environment, choose(runtimes, environment), runtimes))
        return replace(row, state=OUTDATED if again else INSTALLED, note=again)
    if ours(environment):
        note = "a part of Stoker's own environment"
        return replace(row, state=INSTALLED, version=_our_version(environment), where=sys.prefix, note=note)
    if all(row.obstacles.values()):
        return replace(row, state=CANNOT_RUN)
    if folder.exists():
        return replace(row, note="its installation did not come to its end")
    return row


def obstacles_of(runtimes: Path, environment: Environment) -> dict[str, tuple[str, ...]]:
    """Why each of its variants cannot run here. The installed one is not compiled again."""
    made = manifest.read(runtimes / environment.name)
    compiled = made.variant if made is not None and environment.compiled else None
    orders = {variant.name: Order(environment, variant, runtimes) for variant in environment.variants}
    return {
        name: tuple(obstacles(environment, order.variant, built=order.is_built or name == compiled))
        for name, order in orders.items()
    }


def _our_version(environment: Environment) -> str | None:
    for name in environment.dists:
        with suppress(importlib.metadata.PackageNotFoundError):
            return importlib.metadata.version(name)
    return None
