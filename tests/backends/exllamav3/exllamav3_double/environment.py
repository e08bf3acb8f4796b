"""Makes the environment in which ExLlamaV3 runs without a GPU: its package, and the double in place of its
compiled part. PyTorch and the rest are those of the environment `vllm`.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from workers.environments import interpreter
from workers.environments.table import ENVIRONMENTS

OWN = ("exllamav3", "marisa-trie")
"""What the environment `vllm` has not; the other requirements of the package are vLLM's too."""

DOUBLE = Path(__file__).parent


def made(runtimes: Path) -> Path:
    """The Python of the environment, made in the folder `runtimes` unless it is there.

    Needs the environment `vllm` beside it.
    """
    folder = runtimes / "exllamav3-double"
    python, stamp = folder / "bin" / "python", folder / "made"
    pins = _pins()
    lender = interpreter(runtimes, "vllm")
    wanted = "\n".join([*pins, str(lender), str(DOUBLE)])
    if stamp.exists() and stamp.read_text() == wanted:
        return python
    subprocess.run([lender, "-m", "venv", "--clear", folder], check=True)
    packages = _packages(python)
    pip = [python, "-I", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
    subprocess.run([*pip, *pins], check=True)
    (packages / "lender.pth").write_text(f"{_packages(lender)}\n")
    (packages / DOUBLE.name).symlink_to(DOUBLE)
    (packages / "double.pth").write_text(f"import {DOUBLE.name}; {DOUBLE.name}.install()\n")
    stamp.write_text(wanted)
    return python


def version() -> str:
    """That of the package that is pinned, and so in the environment."""
    return _pins()[0].partition("==")[2]


def _pins() -> list[str]:
    lock = ENVIRONMENTS["exllamav3"].variants[0].lock_path.read_text()
    found = (re.search(rf"^{name}==\S+", lock, re.MULTILINE) for name in OWN)
    return [pin[0] for pin in found if pin]


def _packages(python: Path) -> Path:
    """The folder of its packages."""
    code = "import sysconfig; print(sysconfig.get_path('purelib'))"
    told = subprocess.run([python, "-I", "-c", code], check=True, capture_output=True, text=True)
    return Path(told.stdout.strip())
