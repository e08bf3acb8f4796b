"""Checks what an environment needs of this machine: the system, a GPU and its driver, compilers."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from backends.environment import Environment, Variant, Version
from engines.nvml import Driver, DriverError

MACHINES = ("x86_64", "aarch64")
COMPILERS = ("c++", "g++", "clang++")
CUDA_HOMES = ("CUDA_HOME", "CUDA_PATH")
USUAL_CUDA_HOME = Path("/usr/local/cuda")
RELEASE = re.compile(r"\brelease (\d+)\.(\d+)")
TIMEOUT_S = 30.0


def obstacles(environment: Environment, variant: Variant, *, built: bool = False) -> list[str]:
    """Why this variant cannot be installed or run on this machine, one sentence each, which says what to do.

    With `built`, the wheel of the package that it compiles exists already, so no compiler is needed.
    """
    return [
        *_system_obstacles(environment),
        *_gpu_obstacles(variant, built),
        *_compiler_obstacles(environment, built),
    ]


def cuda_home() -> Path | None:
    """The CUDA toolkit: the folder in CUDA_HOME or CUDA_PATH, the usual folder, else that of nvcc on PATH."""
    named = [Path(os.environ[name]) for name in CUDA_HOMES if os.environ.get(name)]
    for home in [*named, USUAL_CUDA_HOME]:
        if (home / "bin" / "nvcc").is_file():
            return home
    found = shutil.which("nvcc")
    return Path(found).resolve().parent.parent if found else None


def gpu_architectures() -> list[str]:
    """The architectures of this machine's GPUs as CMake names them, such as 90; none without a driver.

    They are the GPUs' compute capabilities without the dot (CMake, CMAKE_CUDA_ARCHITECTURES).
    """
    driver = Driver()
    try:
        return driver.query(_architectures)
    except DriverError:
        return []
    finally:
        driver.close()


def _architectures(nvml: Any) -> list[str]:
    handles = [nvml.nvmlDeviceGetHandleByIndex(index) for index in range(nvml.nvmlDeviceGetCount())]
    capabilities = {nvml.nvmlDeviceGetCudaComputeCapability(handle) for handle in handles}
    return [f"{major}{minor}" for major, minor in sorted(capabilities)]


def _system_obstacles(environment: Environment) -> Iterator[str]:
    if environment.linux_only and not (sys.platform == "linux" and platform.machine() in MACHINES):
        yield (
            f"there are no builds of {environment.name} for {platform.system()} on {platform.machine()}: "
            f"run its worker on Linux on {' or '.join(MACHINES)}"
        )
    before = environment.before_python
    if before is not None and sys.version_info[:2] >= before:
        yield (
            f"{environment.name} does not support Python {platform.python_version()} yet: run Stoker with "
            f"a version before {_dotted(before)}"
        )


def _gpu_obstacles(variant: Variant, built: bool) -> Iterator[str]:
    if variant.driver is not None:
        yield from _driver_obstacles(variant.driver)
    if variant.nvcc is not None and not built:
        yield from _nvcc_obstacles(variant.nvcc)


def _driver_obstacles(needed: Version) -> Iterator[str]:
    driver = Driver()
    try:
        gpus, cuda = driver.query(_count_and_cuda)
    except DriverError as error:
        yield f"it needs an NVIDIA GPU, and none can be read ({error})"
        return
    finally:
        driver.close()
    if gpus == 0:
        yield "it needs an NVIDIA GPU, and the driver has none: give this container the GPU"
    elif cuda is not None and cuda < needed:
        yield (
            f"it needs a driver for CUDA {_dotted(needed)}, and the one here supports CUDA {_dotted(cuda)}: "
            "update the NVIDIA driver"
        )


def _count_and_cuda(nvml: Any) -> tuple[int, Version | None]:
    """A query for `Driver`: the number of GPUs, and the newest CUDA version that the driver supports."""
    try:
        number = nvml.nvmlSystemGetCudaDriverVersion_v2()
    except nvml.NVMLError:
        return nvml.nvmlDeviceGetCount(), None
    return nvml.nvmlDeviceGetCount(), (number // 1000, number % 1000 // 10)


def _nvcc_obstacles(needed: Version) -> Iterator[str]:
    home = cuda_home()
    if home is None:
        yield (
            f"it is compiled with nvcc, which was not found: install the CUDA toolkit {_dotted(needed)} "
            "or newer, and set CUDA_HOME if it is not on PATH"
        )
        return
    version = nvcc_version(home / "bin" / "nvcc")
    if version is None:
        yield f"{home / 'bin' / 'nvcc'} does not print its version: reinstall the CUDA toolkit"
    elif version < needed:
        yield (
            f"it needs nvcc {_dotted(needed)} or newer, and {home} has {_dotted(version)}: "
            "install a newer CUDA toolkit, or name it in CUDA_HOME"
        )


@cache
def nvcc_version(nvcc: Path) -> Version | None:
    """The version of a CUDA compiler; None when it does not print one."""
    try:
        printed = subprocess.run(
            [nvcc, "--version"], capture_output=True, text=True, timeout=TIMEOUT_S, check=False
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return None
    release = RELEASE.search(printed)
    return (int(release[1]), int(release[2])) if release else None


def _compiler_obstacles(environment: Environment, built: bool) -> Iterator[str]:
    if not (environment.compiled or environment.compiles_itself) or built:
        return
    named = os.environ.get("CXX")
    if not any(map(shutil.which, [named.split()[0]] if named else COMPILERS)):
        yield (
            "it is compiled on this machine, which has no C++ compiler: install g++ or clang, or name "
            "one in the variable CXX"
        )


def _dotted(version: Version) -> str:
    return ".".join(map(str, version))
