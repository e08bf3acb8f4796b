"""Installs an environment: a virtual environment, the packages of its lock, a trial import, its manifest.

Versions are not resolved: the lock names every package, with hashes. An installation that fails or is
interrupted leaves no manifest, and starts from the beginning the next time.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from backends.environment import Environment
from engines.environments import manifest
from engines.environments.install_lock import InstallError, locked
from engines.environments.machine import obstacles
from engines.environments.manifest import Manifest
from engines.environments.progress import StepProgress
from engines.environments.request import InstallRequest
from engines.environments.steps import Installation

MIB = 1024 * 1024


def install(request: InstallRequest) -> Manifest:
    """Install the environment, unless it is installed and up to date. Raises `InstallError`."""
    progress = StepProgress(request.progress, request.name, request.status_every_s)
    with locked(request.runtimes, request.name) as lock_fd:
        installed = manifest.read(request.folder)
        if installed is not None and not request.force and reinstall_reason(installed, request) is None:
            progress.line(
                f"{installed.version} ({installed.variant}) is installed already, in {request.folder}"
            )
            return installed
        reasons = obstacles(request.environment, request.variant, built=request.is_built)
        if reasons and not request.force:
            raise InstallError(
                f"{request.name} ({request.variant.name}) cannot run here: {'; '.join(reasons)}"
            )
        try:
            _check_space(request)
            if request.folder.exists():
                progress.line(f"installed again: {reinstall_reason(installed, request) or 'as asked'}")
            return _install(request, progress, lock_fd, can_run=not reasons)
        except OSError as error:
            raise InstallError(f"{request.name} is not installed: {error}") from error


def remove(runtimes: Path, environment: Environment) -> bool:
    """Remove an environment, but not the wheels that were compiled for it; False when it is not there.

    Raises `InstallError`.
    """
    folder = runtimes / environment.name
    if not folder.exists():
        return False
    with locked(runtimes, environment.name):
        try:
            if folder.is_symlink():
                raise InstallError(f"{folder} is a symbolic link, not made by Stoker: remove it by hand")
            manifest.delete(folder)
            shutil.rmtree(folder)
            (runtimes / f"{environment.name}.log").unlink(missing_ok=True)
        except OSError as error:
            raise InstallError(f"{environment.name} is not completely removed: {error}") from error
    return True


def reinstall_reason(installed: Manifest | None, request: InstallRequest) -> str | None:
    """Why the existing environment does not satisfy the request; None when it does."""
    if installed is None:
        return "an earlier installation was not completed"
    if installed.variant != request.variant.name:
        return f"this one is for {installed.variant}"
    if not installed.runs(request.folder):
        return "the Python that it was installed with no longer exists"
    if not installed.is_current(request.environment):
        return f"Stoker now pins other versions than this installation has ({installed.version})"
    return None


def _install(request: InstallRequest, progress: StepProgress, lock_fd: int, *, can_run: bool) -> Manifest:
    with _temporary_folder(request.runtimes / f".{request.name}.tmp") as scratch:
        installation = Installation(request, scratch, lock_fd)
        installation.create_environment()
        installation.install_packages()
        installation.link_identical_files()
        if can_run:
            installation.import_library()
        else:
            progress.line("not tried, since it cannot run here")
        installed = installation.write_manifest()
    progress.line(
        f"{installed.version} ({installed.variant}) is installed in {request.folder}, "
        f"{progress.elapsed()} in all"
    )
    return installed


@contextmanager
def _temporary_folder(folder: Path) -> Iterator[Path]:
    """Create an empty folder, and remove it at the end."""
    shutil.rmtree(folder, ignore_errors=True)  # an earlier installation may have been killed
    folder.mkdir()
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _check_space(request: InstallRequest) -> None:
    needed = request.variant.space_mib
    free = shutil.disk_usage(request.runtimes).free // MIB
    if free < needed and request.folder.exists():
        free += _size_mib(request.folder)
    if free < needed:
        raise InstallError(
            f"{request.name} ({request.variant.name}) takes about {needed} MiB during its installation, "
            f"but {request.runtimes} has only {free} MiB left: free some space, or set runtimes_dir to "
            "another place"
        )


def _size_mib(folder: Path) -> int:
    size = 0
    for path in folder.rglob("*"):
        with suppress(OSError):
            size += path.lstat().st_size
    return size // MIB
