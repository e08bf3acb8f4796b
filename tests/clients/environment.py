"""The environments of the clients under `.cache/clients`: packages of Python and npm, from locks with hashes.

`python -m tests.clients.environment --lock` compiles the lock of the Python packages anew.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

from config.settings import ROOT

HERE = Path(__file__).parent
FOLDER = ROOT / ".cache" / "clients"
PYTHON = FOLDER / "python" / "bin" / "python"
LOCK = HERE / "requirements.lock"
STAMP = "installed"  # a file in an environment, with the digest of its lock


def install_python() -> None:
    """Install the Python packages unless they are there."""
    folder = PYTHON.parent.parent
    if _is_installed(folder, LOCK):
        return
    shutil.rmtree(folder, ignore_errors=True)
    _run(sys.executable, "-m", "venv", "--without-pip", str(folder))
    uv = (sys.executable, "-m", "uv", "pip", "install", "--quiet", "--python", str(PYTHON))
    _run(*uv, "--no-deps", "--require-hashes", "--requirement", str(LOCK))
    _write_stamp(folder, LOCK)


def install_javascript(name: str = "js") -> Path:
    """Install the npm packages of a folder unless they are there. Returns theirs, with the programs in it."""
    folder, lock = FOLDER / name, HERE / name / "package-lock.json"
    if not _is_installed(folder, lock):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        for file in ("package.json", "package-lock.json"):
            shutil.copy(lock.parent / file, folder)
        _run("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error", cwd=folder)
        _write_stamp(folder, lock)
    for program in lock.parent.glob("*.mjs"):
        shutil.copy(program, folder)
    return folder


def compile_lock() -> None:
    """Write the lock of the Python packages."""
    uv = (sys.executable, "-m", "uv", "pip", "compile", "--quiet", "--universal", "--upgrade")
    options = ("--no-annotate", "--generate-hashes", "--python-version", "3.11")
    _run(*uv, *options, str(HERE / "requirements.txt"), "--output-file", str(LOCK))


def _is_installed(folder: Path, lock: Path) -> bool:
    stamp = folder / STAMP
    return stamp.exists() and stamp.read_text() == _digest(lock)


def _write_stamp(folder: Path, lock: Path) -> None:
    (folder / STAMP).write_text(_digest(lock))


def _digest(lock: Path) -> str:
    return sha256(lock.read_bytes()).hexdigest()


def _run(*command: str, cwd: Path = ROOT) -> None:
    environment = {**os.environ, "UV_CUSTOM_COMPILE_COMMAND": "python -m tests.clients.environment --lock"}
    subprocess.run(command, cwd=cwd, env=environment, check=True)


if __name__ == "__main__":
    compile_lock() if "--lock" in sys.argv else install_python()
