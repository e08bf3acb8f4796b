"""Installs the environment in which ExLlamaV3 runs without a GPU: its package, with the double in place of
its compiled extension. PyTorch and the other requirements are those of the environment `vllm`.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from engines.environments import interpreter
from engines.environments.python import ENVIRONMENTS

OWN = ("exllamav3", "marisa-trie")
"""The packages that the environment `vllm` does not have; the other requirements are vLLM's as well."""

DOUBLE = Path(__file__).parent


def install(runtimes: Path) -> Path:
    """The Python of the environment in the folder `runtimes`, which is installed unless it is up to date.

    The environment `vllm` must be in the same folder.
    """
    folder = runtimes / "exllamav3-double"
    python, stamp = folder / "bin" / "python", folder / "made"
    pins = _pins()
    vllm_python = interpreter(runtimes, "vllm")
    expected = "\n".join([*pins, str(vllm_python), str(DOUBLE)])
    if stamp.exists() and stamp.read_text() == expected:
        return python
    subprocess.run([vllm_python, "-m", "venv", "--clear", folder], check=True)
    packages = _packages(python)
    pip = [python, "-I", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
    subprocess.run([*pip, *pins], check=True)
    (packages / "vllm.pth").write_text(f"{_packages(vllm_python)}\n")
    (packages / DOUBLE.name).symlink_to(DOUBLE)
    (packages / "double.pth").write_text(f"import {DOUBLE.name}; {DOUBLE.name}.install()\n")
    stamp.write_text(expected)
    return python


def version() -> str:
    """The version of the pinned package, which is in the environment."""
    return _pins()[0].partition("==")[2]


def _pins() -> list[str]:
    lock = ENVIRONMENTS["exllamav3"].variants[0].lock_path.read_text()
    found = (re.search(rf"^{name}==\S+", lock, re.MULTILINE) for name in OWN)
    return [pin[0] for pin in found if pin]


def _packages(python: Path) -> Path:
    """The folder of the packages of a Python."""
    code = "import sysconfig; print(sysconfig.get_path('purelib'))"
    printed = subprocess.run([python, "-I", "-c", code], check=True, capture_output=True, text=True)
    return Path(printed.stdout.strip())
