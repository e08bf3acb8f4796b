"""The library of a runtime: whether it is here, and in which version."""

from __future__ import annotations

import subprocess
from pathlib import Path

from workers.environments import interpreter
from workers.environments.table import OF_BACKEND

ASK = """
import sys
from importlib.metadata import PackageNotFoundError, version
for name in sys.argv[1:]:
    try:
        print(name, version(name))
        break
    except PackageNotFoundError:
        pass
"""


def library(environments: Path, backend: str) -> str:
    """Name and version. Raises `EnvironmentMissing`, whose text says what to do."""
    python = interpreter(environments, backend)
    argv = [str(python), "-c", ASK, *OF_BACKEND[backend].dists]
    return subprocess.run(argv, capture_output=True, text=True, check=False).stdout.strip()
