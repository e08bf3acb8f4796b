"""The peers' virtual environments under `.cache/peers`, whose packages all have versions of one lock.

`python -m benchmarks.peers.environments` compiles the lock anew (a part of `make lock`): the peers keep the
versions below, so that results stay comparable, and their dependencies get the newest versions. The lock has
no hashes: none of its packages is installed with the platform.
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
LOCK = Path(__file__).with_name("requirements.lock")
STAMP = "installed"  # a file in the environment, with the digest of what was installed


def version_of(peer: str) -> str:
    """The name and version of a peer, as the lock has it."""
    return REQUIREMENTS[peer][0].replace("==", " ").replace("[proxy]", "")


def program_of(peer: str) -> Path:
    """The peer's program, which has its name."""
    return FOLDER / peer / "bin" / peer


def install(peer: str, log: Log) -> None:
    """Install the peer unless its environment has the packages of the lock. Raises `BenchmarkError`."""
    wanted = "\n".join((*REQUIREMENTS[peer], LOCK.read_text()))
    folder, digest = FOLDER / peer, sha256(wanted.encode()).hexdigest()
    stamp = folder / STAMP
    if stamp.exists() and stamp.read_text() == digest:
        return
    log(f"installing {version_of(peer)} into {folder.relative_to(ROOT)}, once")
    shutil.rmtree(folder, ignore_errors=True)
    _run("venv", "--without-pip", str(folder))
    target = ("--python", str(folder / "bin" / "python"))
    _run("pip", *target, "install", "--constraint", str(LOCK), *REQUIREMENTS[peer])
    stamp.write_text(digest)


def compile_lock() -> None:
    """Write the lock of all peers, which agree on the versions of their packages. Raises `BenchmarkError`."""
    options = ("--universal", "--upgrade", "--no-annotate", "--python-version", "3.11")
    wanted = "\n".join(requirement for peer in REQUIREMENTS.values() for requirement in peer)
    _run("uv", "pip", "compile", *options, "-", "--output-file", str(LOCK), given=wanted)


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
    compile_lock()
