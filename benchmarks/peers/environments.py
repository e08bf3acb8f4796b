"""The peers' virtual environments under `.cache/peers`, each installed from a lock with hashes.

`python -m benchmarks.peers.environments` compiles the locks anew (a part of `make lock`): the peers keep the
versions below, so that results stay comparable, and their dependencies get the newest versions.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

from benchmarks.cli import Log
from benchmarks.generator_process import BenchmarkError
from config.settings import ROOT

LITELLM, SMG, VLLM_ROUTER = "litellm", "smg", "vllm-router"
REQUIREMENTS = {
    LITELLM: ("litellm[proxy]==1.106.2", "httptools", "uvloop"),
    SMG: ("smg==1.13.0",),
    VLLM_ROUTER: ("vllm-router==0.1.17",),
}
FOLDER = ROOT / ".cache" / "peers"
LOCKS = Path(__file__).parent / "locks"
STAMP = "installed"  # a file in the environment, with the digest of its lock


def lock_of(peer: str) -> Path:
    """The file with the versions and hashes of a peer's packages."""
    return LOCKS / f"{peer}.txt"


def version_of(peer: str) -> str:
    """The name and version of a peer, as its lock has it."""
    return REQUIREMENTS[peer][0].replace("==", " ").replace("[proxy]", "")


def program_of(peer: str) -> Path:
    """The peer's program, which has its name."""
    return FOLDER / peer / "bin" / peer


def install(peer: str, log: Log) -> None:
    """Install the peer unless its environment has the packages of its lock. Raises `BenchmarkError`."""
    folder, digest = FOLDER / peer, sha256(lock_of(peer).read_bytes()).hexdigest()
    stamp = folder / STAMP
    if stamp.exists() and stamp.read_text() == digest:
        return
    log(f"installing {version_of(peer)} into {folder.relative_to(ROOT)}, once")
    shutil.rmtree(folder, ignore_errors=True)
    _run("venv", "--without-pip", str(folder))
    target = ("--python", str(folder / "bin" / "python"))
    _run("pip", *target, "install", "--no-deps", "--require-hashes", "--requirement", str(lock_of(peer)))
    stamp.write_text(digest)


def compile_lock(peer: str) -> None:
    """Write the lock of a peer. Raises `BenchmarkError`."""
    options = ("--universal", "--upgrade", "--no-annotate", "--generate-hashes", "--python-version", "3.11")
    output = ("--output-file", str(lock_of(peer)))
    _run("uv", "pip", "compile", *options, "-", *output, given="\n".join(REQUIREMENTS[peer]))


def _run(module: str, *arguments: str, given: str = "") -> None:
    ran = subprocess.run(
        [sys.executable, "-m", module, *arguments],
        input=given,
        env={**os.environ, "UV_CUSTOM_COMPILE_COMMAND": "make lock"},
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    if ran.returncode:
        raise BenchmarkError(f"{module} {' '.join(arguments)} has failed: {ran.stderr.strip()}")


if __name__ == "__main__":
    for name in REQUIREMENTS:
        compile_lock(name)
