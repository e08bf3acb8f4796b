"""`stoker runtimes`: lists, installs and removes the runtimes' environments."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from backends.catalogue import BACKENDS
from backends.environment import Environment, Variant
from config.commands import program
from engines.environments import install as installing
from engines.environments import manifest
from engines.environments.install_lock import InstallError
from engines.environments.obstacles import obstacles_of
from engines.environments.python import ENVIRONMENT_OF_BACKEND, ENVIRONMENTS
from engines.environments.request import InstallRequest
from engines.environments.status import (
    CANNOT_RUN,
    INSTALLED,
    NOT_NEEDED,
    EnvironmentStatus,
    choose_variant,
    environment_statuses,
)
from stoker.names import nearest
from stoker.tables import align
from stoker.terminal import TerminalOutput

COLUMNS = ("backend", "environment", "state", "version", "variant", "where")
TERMINAL_STATUS_S, LOG_STATUS_S = 0.2, 5.0
INTERRUPTING_SIGNALS = (signal.SIGTERM, signal.SIGHUP)
"""Signals that interrupt an installation as Ctrl-C does, so that the programs it runs end with it."""


def table(rows: Sequence[EnvironmentStatus]) -> list[str]:
    """Return the lines of a table of backends, with remarks below a row."""
    lines = align([COLUMNS, *map(_cells, rows)])
    return [
        lines[0],
        *(text for row, line in zip(rows, lines[1:], strict=True) for text in (line, *_remarks(row))),
    ]


def named_rows(runtimes: Path, names: Iterable[str]) -> list[dict[str, Any]]:
    """Return the details of the environments of these names."""
    wanted = {_environment_named(name).name for name in names}
    return [asdict(row) for row in environment_statuses(runtimes) if row.environment in wanted]


def _cells(row: EnvironmentStatus) -> tuple[str, ...]:
    cells = (row.backend, row.environment, row.state, row.version, row.variant, row.where)
    return tuple(cell or "" for cell in cells)


def _remarks(row: EnvironmentStatus) -> Iterable[str]:
    if row.note:
        yield f"  {row.note}"
    for variant, sentences in row.obstacles.items():
        if row.state != INSTALLED or variant == row.variant:
            for sentence in sentences:
                yield f"  {variant}: {sentence}"
    if row.state not in (INSTALLED, NOT_NEEDED, CANNOT_RUN):
        yield f"  to install it: {program()} runtimes install {row.environment}"


def install(
    runtimes: Path, names: Sequence[str], screen: TerminalOutput, *, variant: str | None, force: bool
) -> None:
    """Install the named runtimes. Raises `click.ClickException` with the failures after all were tried."""
    status_every_s = TERMINAL_STATUS_S if sys.stdout.isatty() else LOG_STATUS_S
    requests = [
        InstallRequest(
            environment,
            _variant(runtimes, environment, variant, screen),
            runtimes,
            screen,
            status_every_s,
            force,
        )
        for environment in dict.fromkeys(map(_environment_named, names))
    ]
    before = {number: signal.getsignal(number) for number in INTERRUPTING_SIGNALS}
    for number, handler in before.items():
        if handler is not signal.SIG_IGN:  # under nohup the installation is to outlive its terminal
            signal.signal(number, signal.default_int_handler)
    try:
        failed = [sentence for request in requests if (sentence := _install(request, screen))]
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if failed:
        raise click.ClickException("\n".join(failed))


def _install(request: InstallRequest, screen: TerminalOutput) -> str | None:
    """Install one environment. Returns the reason if it failed."""
    try:
        installing.install(request)
    except InstallError as error:
        screen.done()
        return str(error)
    except KeyboardInterrupt:
        screen.line(f"{request.name} is not installed: interrupted")
        raise
    return None


def _variant(runtimes: Path, environment: Environment, wanted: str | None, screen: TerminalOutput) -> Variant:
    """The wanted variant, else the one for this machine. Shows why it is not the preferred one."""
    if wanted is not None:
        try:
            return environment.variant(wanted)
        except LookupError as error:
            raise click.ClickException(str(error)) from None
    chosen, preferred = choose_variant(runtimes, environment), environment.variants[0]
    obstacles = obstacles_of(runtimes, environment)[preferred.name]
    if chosen is not preferred and obstacles and manifest.read(runtimes / environment.name) is None:
        screen.line(f"{environment.name}: takes {chosen.name}, since for {preferred.name} {obstacles[0]}")
    return chosen


def remove(runtimes: Path, name: str, screen: TerminalOutput) -> None:
    """Remove one runtime. Raises `click.ClickException`."""
    environment = _environment_named(name)
    try:
        removed = installing.remove(runtimes, environment)
    except InstallError as error:
        raise click.ClickException(str(error)) from None
    folder = runtimes / environment.name
    screen.line(f"{folder} is removed" if removed else f"{environment.name} is not installed in {runtimes}")


def _environment_named(name: str) -> Environment:
    if name in BACKENDS and name not in ENVIRONMENT_OF_BACKEND:
        raise click.ClickException(f"{name} needs no libraries: it runs as it is")
    environment = ENVIRONMENTS.get(name) or ENVIRONMENT_OF_BACKEND.get(name)
    if environment is None:
        known, there_are = list(ENVIRONMENTS), f"there are {', '.join(ENVIRONMENTS)}"
        raise click.UsageError(f"there is no runtime {name} to install; {nearest(name, known, there_are)}")
    return environment
