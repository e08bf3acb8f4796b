"""The steps of an installation. Each shows its progress and appends the output of its programs to the log."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from engines.environments import manifest
from engines.environments.install_lock import InstallError
from engines.environments.linked_files import link_identical_files
from engines.environments.machine import cuda_home
from engines.environments.manifest import Manifest, base_of, digest, python_of
from engines.environments.pins import Pin
from engines.environments.program import OutputHandler, run_program
from engines.environments.progress import ElapsedProgress, StepProgress, UvProgress, failure_reason
from engines.environments.request import InstallRequest
from engines.environments.uv_settings import NOT_INHERITED, UvSettings, uv_settings

MIB = 1024 * 1024
UV_PIP = ("-I", "-m", "uv", "pip")
UV_OPTIONS = ("--color", "never", "--require-hashes")
PRINT_VERSION = """
import importlib.metadata as metadata
for name in {dists}:
    try:
        print(metadata.version(name))
        break
    except metadata.PackageNotFoundError:
        pass
"""


class Installation:
    """Carries out an `InstallRequest`, step by step.

    `scratch` is an empty folder for temporary files; programs inherit `lock_fd`, which locks the environment.
    """

    def __init__(self, request: InstallRequest, scratch: Path, lock_fd: int) -> None:
        self._request = request
        self._scratch = scratch
        self._lock_fd = lock_fd
        self._python = str(python_of(request.folder))
        self._uv = uv_settings()
        request.log.write_bytes(b"")

    def create_environment(self) -> None:
        """Create an empty virtual environment."""
        self._request.folder.mkdir(exist_ok=True)
        manifest.delete(self._request.folder)
        argv = [sys.executable, "-I", "-m", "venv", "--without-pip", "--clear", str(self._request.folder)]
        if ended := self._run(argv, ElapsedProgress(self._step(), "creating the environment")):
            raise self._failed(f"{sys.executable} -m venv", ended)

    def install_packages(self) -> None:
        """Install the packages of the lock, after compiling the one that has no wheel."""
        compiled = self._request.compiled_pin
        if compiled is not None and self._request.is_built:
            self._step().line(f"takes the {compiled} that was built earlier, from {self._request.wheels}")
        elif compiled is not None:
            self._compile(compiled)
        from_indexes = [pin for pin in self._request.pins if pin != compiled]
        if from_indexes:
            self._sync(from_indexes)
        if compiled is not None:
            self._install_wheel(compiled)
        if self._request.variant.stands_for:
            self._add_alias(self._request.variant.stands_for)

    def _install_wheel(self, pin: Pin) -> None:
        """Install the wheel of the compiled package.

        Its cache is removed with the temporary files: uv's usual one would keep the unpacked files, although
        the wheel is kept.
        """
        requirement = pin.wheel_requirement(pin.wheels(self._request.wheels)[0])
        requirements = self._requirements_file("wheel.txt", [requirement])
        argv = ["install", "--python", self._python, "--no-deps", "--compile-bytecode"]
        argv += ["--requirements", str(requirements)]
        variables = {"UV_CACHE_DIR": str(self._scratch / "unpacked"), "UV_NO_CACHE": "false"}
        progress = ElapsedProgress(self._step(), f"installing {pin}")
        if ended := self._run_uv(argv, progress, self._uv, variables):
            raise self._failed(f"installing {pin}", ended)

    def link_identical_files(self) -> None:
        """Store identical files of the packages once."""
        saved = link_identical_files(self._packages())
        if saved >= MIB:
            self._step().line(f"links identical files: {saved // MIB} MiB less")

    def _sync(self, pins: Sequence[Pin]) -> None:
        """Install the pins from the configured indexes and, where those lack a local version, from the
        variant's own index as well."""
        total = len(pins)
        requirements = self._requirements_file("requirements.txt", [pin.requirement for pin in pins])
        argv = ["sync", "--python", self._python, "--compile-bytecode", str(requirements)]
        progress = UvProgress(self._step(), total, self._packages())
        ended = self._run_uv(argv, progress, self._uv)
        missing, index = self._missing_local_pin(), self._request.variant.index
        if ended and missing and index:
            self._step().line(f"{missing} is not on a configured index: asking {index}")
            progress = UvProgress(self._step(), total, self._packages())
            ended = self._run_uv(argv, progress, self._uv.with_index(index))
        if ended:
            raise self._failed("uv pip sync", ended)
        progress.finish()

    def _missing_local_pin(self) -> Pin | None:
        """The local version that uv has just not found on the indexes."""
        output = self._last_output()
        for pin in self._request.pins:
            if pin.is_local and any(
                text in output
                for text in (f"no version of {pin}", f"{pin.name} was not found in the package registry")
            ):
                return pin
        return None

    def _compile(self, pin: Pin) -> None:
        """Compile a package from its source archive, and move the wheel to the folder of compiled wheels.

        uv compiles a package to install it. It knows no command that writes a wheel, but its cache holds the
        wheel; a cache of its own also excludes wheels that were compiled with other CMake arguments.
        """
        wheels, minutes, cmake_args = (
            self._request.wheels,
            self._request.variant.minutes,
            self._request.cmake_args,
        )
        step = self._step()
        step.line(f"compiles {pin} with CMAKE_ARGS={cmake_args}; this takes about {minutes} min")
        requirements = self._requirements_file("compiled.txt", [pin.requirement])
        cache, target = self._scratch / "cache", self._scratch / "compiled"
        argv = ["install", "--python", self._python, "--target", str(target)]
        argv += ["--no-deps", "--no-binary", pin.name, "--requirements", str(requirements)]
        variables = {"CMAKE_ARGS": cmake_args, "UV_CACHE_DIR": str(cache), "UV_NO_CACHE": "false"}
        if ended := self._run_uv(argv, ElapsedProgress(step, "compiling", minutes), self._uv, variables):
            raise self._failed(f"building {pin}", ended)
        built = pin.wheels(cache)
        if not built:
            raise InstallError(
                f"{self._request.name} is not installed: uv left no wheel of {pin} in its cache"
            )
        wheels.mkdir(parents=True, exist_ok=True)
        shutil.move(built[0], wheels / built[0].name)
        step.line(f"compiled {pin}, {step.elapsed()}; the wheel is in {wheels}")

    def _add_alias(self, name: str) -> None:
        """Write metadata under the distribution name by which the library looks up its own version."""
        version = f"{self.version().partition('+')[0]}+{self._request.variant.name}"
        folder = self._packages() / f"{name}-{version}.dist-info"
        folder.mkdir()
        text = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        (folder / "METADATA").write_text(text, encoding="utf-8")
        (folder / "INSTALLER").write_text("stoker\n", encoding="utf-8")

    def import_library(self) -> None:
        """Import the library in the new environment, which shows whether it runs on this machine."""
        environment = self._request.environment
        doing, minutes = "importing it", ""
        if environment.compiles_itself:
            doing, minutes = "compiling", self._request.variant.minutes
        argv = [self._python, "-I", "-c", f"import {environment.check}"]
        variables = {  # ninja is beside the Python; compiled extensions are removed with the environment
            "PATH": os.pathsep.join([str(self._request.folder / "bin"), *os.get_exec_path()]),
            "TORCH_EXTENSIONS_DIR": str(self._request.folder / "extensions"),
        }
        if ended := self._run(argv, ElapsedProgress(self._step(), doing, minutes), variables):
            raise self._failed(f"import {environment.check}", ended)

    def version(self) -> str:
        """The library's version, from its metadata. Raises `InstallError` when there is none."""
        code = PRINT_VERSION.format(dists=self._request.environment.dists)
        argv = [self._python, "-I", "-c", code]
        printed: str = subprocess.run(argv, capture_output=True, text=True, check=False).stdout.strip()
        if not printed:
            raise InstallError(
                f"{self._request.name}: the packages do not contain {self._request.environment.dists[-1]}"
            )
        return printed

    def write_manifest(self) -> Manifest:
        """Write the manifest: the environment is installed."""
        written = Manifest(
            name=self._request.name,
            variant=self._request.variant.name,
            version=self.version(),
            python=platform.python_version(),
            base=base_of(self._request.folder),
            lock_sha256=digest(self._request.variant.lock_path),
            made_at=datetime.now(UTC).isoformat(timespec="seconds"),
        )
        written.write(self._request.folder)
        return written

    # ---- running programs

    def _run_uv(
        self,
        arguments: Sequence[str],
        handler: OutputHandler,
        settings: UvSettings,
        variables: Mapping[str, str] | None = None,
    ) -> str | None:
        command, *rest = arguments
        argv = [sys.executable, *UV_PIP, command, *UV_OPTIONS, *settings.options, *rest]
        return self._run(argv, handler, {**settings.variables, **(variables or {})})

    def _run(
        self, argv: Sequence[str], handler: OutputHandler, variables: Mapping[str, str] | None = None
    ) -> str | None:
        inherited = {name: value for name, value in os.environ.items() if name not in NOT_INHERITED}
        # downloads may be too large for /tmp
        inherited["TMPDIR"] = str(self._scratch)
        home = cuda_home()
        if home is not None:
            inherited["CUDA_HOME"] = str(home)
        self._log_start = self._request.log.stat().st_size
        return run_program(
            argv, {**inherited, **(variables or {})}, self._request.log, handler, self._lock_fd
        )

    def _last_output(self) -> str:
        """The output of the program that ran last."""
        return self._request.log.read_bytes()[self._log_start :].decode("utf-8", "replace")

    def _failed(self, program: str, ended: str) -> InstallError:
        reason = failure_reason(self._last_output())
        return InstallError(
            f"{self._request.name} is not installed: {program} {ended}: {reason} "
            f"(the whole output is in {self._request.log})"
        )

    def _step(self) -> StepProgress:
        return StepProgress(self._request.progress, self._request.name, self._request.status_every_s)

    def _requirements_file(self, name: str, requirements: Sequence[str]) -> Path:
        path = self._scratch / name
        path.write_text("\n".join(requirements) + "\n", encoding="utf-8")
        return path

    def _packages(self) -> Path:
        version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
        return self._request.folder / "lib" / version / "site-packages"
