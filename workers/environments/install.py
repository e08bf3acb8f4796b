"""Makes an environment: a virtual environment, the pins of its lock, a trial import, and then its manifest.

Nothing is resolved: every pin is installed with --no-deps. What is interrupted or fails has no manifest, and
is made again from the start the next time.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from backends.environment import Environment
from workers.environments import manifest
from workers.environments.lock import InstallError, claimed
from workers.environments.machine import obstacles
from workers.environments.manifest import Manifest
from workers.environments.pip_progress import Story
from workers.environments.request import Order
from workers.environments.steps import Making

MIB = 1024 * 1024


def install(order: Order) -> Manifest:
    """Make the environment, unless it is there as it should be. Raises `InstallError`."""
    story = Story(order.say, order.name, order.every_s)
    with claimed(order.runtimes, order.name) as fd:
        made = manifest.read(order.folder)
        if made is not None and not order.force and why_again(made, order) is None:
            story.line(f"{made.version} ({made.variant}) is installed already, in {order.folder}")
            return made
        why = obstacles(order.environment, order.variant, built=order.is_built)
        if why and not order.force:
            raise InstallError(f"{order.name} ({order.variant.name}) cannot run here: {'; '.join(why)}")
        try:
            _check_space(order)
            if order.folder.exists():
                story.line(f"made again: {why_again(made, order) or 'as asked'}")
            return _make(order, story, fd, tried=not why)
        except OSError as error:
            raise InstallError(f"{order.name} is not installed: {error}") from error


def remove(runtimes: Path, environment: Environment) -> bool:
    """Remove an environment, not the wheels that were built for it; false when there was none.

    Raises `InstallError`.
    """
    folder = runtimes / environment.name
    if not folder.exists():
        return False
    with claimed(runtimes, environment.name):
        try:
            if folder.is_symlink():
                raise InstallError(f"{folder} is a symbolic link, not made by Stoker: remove it by hand")
            manifest.forget(folder)
            shutil.rmtree(folder)
            (runtimes / f"{environment.name}.log").unlink(missing_ok=True)
        except OSError as error:
            raise InstallError(f"{environment.name} is not wholly removed: {error}") from error
    return True


def why_again(made: Manifest | None, order: Order) -> str | None:
    """Why what is there is not what is asked for; None when it is."""
    if made is None:
        return "an earlier installation did not come to its end"
    if made.variant != order.variant.name:
        return f"this one is for {made.variant}"
    if not made.runs(order.folder):
        return "the Python that it was made with has gone"
    if not made.is_current(order.environment):
        return f"Stoker pins other versions now than those of this one ({made.version})"
    return None


def _make(order: Order, story: Story, fd: int, *, tried: bool) -> Manifest:
    with _scratch(order.runtimes / f".{order.name}.tmp") as scratch:
        making = Making(order, scratch, fd)
        making.make_folder()
        making.install()
        if tried:
            making.try_it()
        else:
            story.line("not tried, since it cannot run here")
        made = making.finish()
    story.line(f"{made.version} ({made.variant}) is installed in {order.folder}, {story.took()} in all")
    return made


@contextmanager
def _scratch(folder: Path) -> Iterator[Path]:
    """An empty folder for the time being."""
    shutil.rmtree(folder, ignore_errors=True)  # somebody may have been killed
    folder.mkdir()
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _check_space(order: Order) -> None:
    needed = order.variant.space_mib
    free = shutil.disk_usage(order.runtimes).free // MIB
    if free < needed and order.folder.exists():
        free += _size_mib(order.folder)
    if free < needed:
        raise InstallError(
            f"{order.name} ({order.variant.name}) takes about {needed} MiB while it is installed, and "
            f"{order.runtimes} has {free} MiB left: make room, or set runtimes_dir to another place"
        )


def _size_mib(folder: Path) -> int:
    size = 0
    for path in folder.rglob("*"):
        with suppress(OSError):
            size += path.lstat().st_size
    return size // MIB
