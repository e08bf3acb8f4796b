"""The steps of an installation: each tells its progress, and keeps all that was said in the log."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from workers.environments import manifest
from workers.environments.lock import InstallError
from workers.environments.machine import cuda_home
from workers.environments.manifest import Manifest, base_of, digest, python_of
from workers.environments.pins import Pin
from workers.environments.pip_progress import NOT_FOUND, Pip, Story, Ticking, reason
from workers.environments.process import Listener, run
from workers.environments.request import Order

# what would change whose packages are found, or where they go, in a Python that is not ours
NOT_INHERITED = ("PYTHONPATH", "PYTHONHOME", "PIP_REQUIRE_VIRTUALENV", "PIP_TARGET", "PIP_PREFIX", "PIP_USER")
PIP = ("-I", "-m", "pip")
PIP_OPTIONS = ("--no-input", "--disable-pip-version-check", "--progress-bar", "off", "--no-deps")
VERSION = """
import importlib.metadata as metadata
for name in {dists}:
    try:
        print(metadata.version(name))
        break
    except metadata.PackageNotFoundError:
        pass
"""


class Making:
    """Makes what an order asks for, in an empty environment; `fd` holds the claim on it."""

    def __init__(self, order: Order, scratch: Path, fd: int) -> None:
        self._order = order
        self._scratch = scratch
        self._fd = fd
        self._python = str(python_of(order.folder))
        order.log.write_bytes(b"")

    def make_folder(self) -> None:
        """A virtual environment with nothing but pip."""
        self._order.folder.mkdir(exist_ok=True)
        manifest.forget(self._order.folder)
        argv = [sys.executable, "-I", "-m", "venv", "--clear", str(self._order.folder)]
        if ended := self._run(argv, Ticking(self._story(), "making the folder")):
            raise self._failed(f"{sys.executable} -m venv", ended)

    def install(self) -> None:
        """Its packages. What is compiled, and what may be on no configured index, come first."""
        wanted = self._order.pins
        for pin in wanted:
            if pin.name == self._order.environment.compiled:
                self._build(pin)
            elif pin.is_local and self._order.variant.index:
                self._install_from(pin, self._order.variant.index)
        wheels = self._order.wheels
        links = ["--find-links", str(wheels)] if self._order.is_built else []
        listener = self._pip_listener(len(wanted))
        if ended := self._pip("install", [*links, *map(str, wanted)], listener):
            raise self._failed("pip install", ended)
        listener.done()
        if self._order.variant.stands_for:
            self._stand_for(self._order.variant.stands_for)

    def _build(self, pin: Pin) -> None:
        """Compile a package, unless a wheel of it is kept."""
        wheels, minutes, args = self._order.wheels, self._order.variant.minutes, self._order.cmake_args
        story = self._story()
        if self._order.is_built:
            story.line(f"takes the {pin} that was built earlier, from {wheels}")
            return
        story.line(f"compiles {pin} with CMAKE_ARGS={args}; this takes about {minutes} min")
        # pip's cache knows nothing of CMAKE_ARGS: it would give what was compiled in another way
        options = ["--no-cache-dir", "--wheel-dir", str(wheels), str(pin)]
        listener = Ticking(story, "compiling", minutes)
        if ended := self._pip("wheel", options, listener, {"CMAKE_ARGS": args}):
            raise self._failed(f"building {pin}", ended)
        story.line(f"compiled {pin}, {story.took()}; the wheel is kept in {wheels}")

    def _install_from(self, pin: Pin, index: str) -> None:
        """Install one package from the configured indexes, or else from this one."""
        listener = self._pip_listener(1)
        ended = self._pip("install", [str(pin)], listener)
        if ended and NOT_FOUND in self._said():
            self._story().line(f"{pin} is on no configured index: asks {index}")
            listener = self._pip_listener(1)
            ended = self._pip("install", ["--index-url", index, str(pin)], listener)
        if ended:
            raise self._failed("pip install", ended)
        listener.done()

    def _stand_for(self, name: str) -> None:
        """Write the metadata under which the library looks itself up."""
        version = f"{self.version().partition('+')[0]}+{self._order.variant.name}"
        folder = self._packages() / f"{name}-{version}.dist-info"
        folder.mkdir()
        told = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        (folder / "METADATA").write_text(told, encoding="utf-8")
        (folder / "INSTALLER").write_text("stoker\n", encoding="utf-8")

    def try_it(self) -> None:
        """Import the library."""
        environment = self._order.environment
        doing, minutes = "importing it", ""
        if environment.compiles_itself:
            doing, minutes = "compiling", self._order.variant.minutes
        argv = [self._python, "-I", "-c", f"import {environment.check}"]
        compiling = {  # ninja lies beside the Python; what it makes goes with the environment
            "PATH": os.pathsep.join([str(self._order.folder / "bin"), *os.get_exec_path()]),
            "TORCH_EXTENSIONS_DIR": str(self._order.folder / "extensions"),
        }
        if ended := self._run(argv, Ticking(self._story(), doing, minutes), compiling):
            raise self._failed(f"import {environment.check}", ended)

    def version(self) -> str:
        """The library's version, as its metadata has it."""
        code = VERSION.format(dists=self._order.environment.dists)
        argv = [self._python, "-I", "-c", code]
        told: str = subprocess.run(argv, capture_output=True, text=True, check=False).stdout.strip()
        if not told:
            raise InstallError(
                f"{self._order.name}: the packages do not hold {self._order.environment.dists[-1]}"
            )
        return told

    def finish(self) -> Manifest:
        """Write the manifest."""
        made = Manifest(
            name=self._order.name,
            variant=self._order.variant.name,
            version=self.version(),
            python=platform.python_version(),
            base=base_of(self._order.folder),
            lock_sha256=digest(self._order.variant.lock_path),
            made_at=datetime.now(UTC).isoformat(timespec="seconds"),
        )
        made.write(self._order.folder)
        return made

    # ---- running

    def _pip(
        self,
        command: str,
        arguments: Sequence[str],
        listener: Listener,
        environment: Mapping[str, str] | None = None,
    ) -> str | None:
        return self._run([self._python, *PIP, command, *PIP_OPTIONS, *arguments], listener, environment)

    def _run(
        self, argv: Sequence[str], listener: Listener, environment: Mapping[str, str] | None = None
    ) -> str | None:
        inherited = {name: value for name, value in os.environ.items() if name not in NOT_INHERITED}
        # what is downloaded may be too large for /tmp
        inherited["TMPDIR"] = str(self._scratch)
        home = cuda_home()
        if home is not None:
            inherited["CUDA_HOME"] = str(home)
        self._from = self._order.log.stat().st_size
        return run(argv, {**inherited, **(environment or {})}, self._order.log, listener, self._fd)

    def _said(self) -> str:
        """What the last run said."""
        return self._order.log.read_bytes()[self._from :].decode("utf-8", "replace")

    def _failed(self, what: str, ended: str) -> InstallError:
        return InstallError(
            f"{self._order.name} is not installed: {what} {ended}: {reason(self._said())} "
            f"(all that was said is in {self._order.log})"
        )

    def _story(self) -> Story:
        return Story(self._order.say, self._order.name, self._order.every_s)

    def _pip_listener(self, total: int) -> Pip:
        return Pip(self._story(), total, self._scratch, self._packages())

    def _packages(self) -> Path:
        version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
        return self._order.folder / "lib" / version / "site-packages"
