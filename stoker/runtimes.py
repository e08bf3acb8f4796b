"""The runtimes' environments, from the command line: what is there, install, remove."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path

import click

from backends.catalogue import BACKENDS
from backends.environment import Environment, Variant
from stoker.models import aligned
from stoker.terminal import Screen
from workers.environments import install as installing
from workers.environments import manifest
from workers.environments.lock import InstallError
from workers.environments.request import Order
from workers.environments.status import (
    CANNOT_RUN,
    INSTALLED,
    NOT_NEEDED,
    Row,
    choose,
    obstacles_of,
    survey,
)
from workers.environments.table import ENVIRONMENTS, OF_BACKEND

COLUMNS = ("backend", "environment", "state", "version", "variant", "where")
ON_A_TERMINAL_S, ELSEWHERE_S = 0.2, 5.0
ENDINGS = (signal.SIGTERM, signal.SIGHUP)
"""They interrupt an installation as Ctrl-C does, so that what it has started ends with it."""


def shown(runtimes: Path, *, as_json: bool) -> str:
    """All backends: a table, what is to be known of a row below it."""
    rows = survey(runtimes)
    if as_json:
        return json.dumps([asdict(row) for row in rows], indent=2)
    lines = aligned([COLUMNS, *map(_cells, rows)])
    return "\n".join(
        [
            lines[0],
            *(text for row, line in zip(rows, lines[1:], strict=True) for text in (line, *_below(row))),
        ]
    )


def _cells(row: Row) -> tuple[str, ...]:
    cells = (row.backend, row.environment, row.state, row.version, row.variant, row.where)
    return tuple(cell or "" for cell in cells)


def _below(row: Row) -> Iterable[str]:
    if row.note:
        yield f"  {row.note}"
    for variant, why in row.obstacles.items():
        if row.state != INSTALLED or variant == row.variant:
            for sentence in why:
                yield f"  {variant}: {sentence}"
    if row.state not in (INSTALLED, NOT_NEEDED, CANNOT_RUN):
        yield f"  to install it: stoker runtimes install {row.environment}"


def install(
    runtimes: Path, names: Sequence[str], screen: Screen, *, variant: str | None, force: bool
) -> None:
    """Install each of them; those that fail are told at the end. Raises `click.ClickException`."""
    every_s = ON_A_TERMINAL_S if sys.stdout.isatty() else ELSEWHERE_S
    orders = [
        Order(environment, _variant(runtimes, environment, variant, screen), runtimes, screen, every_s, force)
        for environment in dict.fromkeys(map(_named, names))
    ]
    before = {number: signal.getsignal(number) for number in ENDINGS}
    for number, handler in before.items():
        if handler is not signal.SIG_IGN:  # whoever runs under nohup is to outlive his terminal
            signal.signal(number, signal.default_int_handler)
    try:
        failed = [sentence for order in orders if (sentence := _install(order, screen))]
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if failed:
        raise click.ClickException("\n".join(failed))


def _install(order: Order, screen: Screen) -> str | None:
    """Why it failed, if it did."""
    try:
        installing.install(order)
    except InstallError as error:
        screen.done()
        return str(error)
    except KeyboardInterrupt:
        screen.line(f"{order.name} is not installed: interrupted")
        raise
    return None


def _variant(runtimes: Path, environment: Environment, wanted: str | None, screen: Screen) -> Variant:
    """The wanted variant, else the one for this machine; why that is not the preferred one is told."""
    if wanted is not None:
        try:
            return environment.variant(wanted)
        except LookupError as error:
            raise click.ClickException(str(error)) from None
    chosen, preferred = choose(runtimes, environment), environment.variants[0]
    why = obstacles_of(runtimes, environment)[preferred.name]
    if chosen is not preferred and why and manifest.read(runtimes / environment.name) is None:
        screen.line(f"{environment.name}: takes {chosen.name}, since for {preferred.name} {why[0]}")
    return chosen


def remove(runtimes: Path, name: str, screen: Screen) -> None:
    """Remove one. Raises `click.ClickException`."""
    environment = _named(name)
    try:
        there = installing.remove(runtimes, environment)
    except InstallError as error:
        raise click.ClickException(str(error)) from None
    folder = runtimes / environment.name
    screen.line(f"{folder} is removed" if there else f"{environment.name} is not installed in {runtimes}")


def _named(name: str) -> Environment:
    if name in BACKENDS and name not in OF_BACKEND:
        raise click.ClickException(f"{name} needs no libraries: it runs as it is")
    environment = ENVIRONMENTS.get(name) or OF_BACKEND.get(name)
    if environment is None:
        raise click.ClickException(
            f"there is no runtime {name} to install; there are {', '.join(ENVIRONMENTS)}"
        )
    return environment
