"""A simulated GPU driver, `libnvidia-ml.c`: its GPUs hold the real memory of the stub backend's engines.

Processes started with `environment` load it with the real nvidia-ml-py.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.waiting import scaled

SOURCE = Path(__file__).with_name("libnvidia-ml.c")


def compiled(directory: Path) -> Path:
    """Compile the driver into a directory, unless it contains it already; returns the directory.

    Without a compiler the test is skipped; on CI it fails.
    """
    library = directory / "libnvidia-ml.so.1"
    if not library.exists():
        compiler = shutil.which("cc")
        if compiler is None:
            if os.environ.get("CI"):
                pytest.fail("no C compiler, and CI has to run this test")
            pytest.skip("no C compiler here")
        directory.mkdir(parents=True, exist_ok=True)
        flags = ["-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"]
        subprocess.run([compiler, *flags, "-o", str(library), str(SOURCE)], check=True, timeout=scaled(60))
    return directory


def environment(
    directory: Path, *, gpus: int = 1, total_mib: int = 8192, base_mib: int = 0
) -> dict[str, str]:
    """Environment variables that give a process GPUs of `total_mib` each, `base_mib` of it used by others.

    The driver is compiled into `directory`; it does not count engines that use one in another directory.
    """
    path = [str(compiled(directory)), os.environ.get("LD_LIBRARY_PATH", "")]
    return {
        "LD_LIBRARY_PATH": ":".join(filter(None, path)),
        "FAKE_NVML_GPUS": str(gpus),
        "FAKE_NVML_TOTAL_MIB": str(total_mib),
        "FAKE_NVML_BASE_MIB": str(base_mib),
    }
