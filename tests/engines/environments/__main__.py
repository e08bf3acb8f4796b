"""`python -m tests.engines.environments` locks the runtimes' environments (a part of `make lock`).

Each lock holds the newest versions that fit its extra in pyproject.toml, with the hashes of all their files.
uv asks the indexes that its own variables name. A variant with an index of its own (vLLM's for the CPU, for
torch 2.13.0+cpu) is locked with that index, which has the hashes of all wheels. If it cannot be reached, the
folder in PIP_FIND_LINKS is searched instead, and the locked versions and hashes are preserved unless the
extra requires other versions.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

from backends.environment import Variant
from config.settings import ROOT
from engines.environments.python import ENVIRONMENTS

UV = Path(sys.executable).with_name("uv")
OPTIONS = (
    *("--quiet", "--universal", "--no-annotate"),
    *("--generate-hashes", "--python-version", "3.11"),
)


def sources(variant: Variant) -> Iterator[list[str]]:
    """The options for the versions and indexes of a variant, the preferred ones first."""
    if variant.index:
        yield ["--upgrade", "--index", variant.index, "--index-strategy", "unsafe-best-match"]
    links = os.environ.get("PIP_FIND_LINKS")
    if variant.index and links:
        yield ["--find-links", links]
    if not variant.index:
        yield ["--upgrade"]


def compile_lock(variant: Variant, requirements: list[str]) -> None:
    """Write the lock of a variant; ends the process when no source has all packages."""
    argv = [UV, "pip", "compile", *OPTIONS, "-", "--output-file", variant.lock_path]
    argv += [word for name in variant.left_out for word in ("--no-emit-package", name)]
    for options in sources(variant):
        ran = subprocess.run(
            [*argv, *options],
            input="\n".join(requirements),
            env={**os.environ, "UV_CUSTOM_COMPILE_COMMAND": "make lock"},
            capture_output=True,
            text=True,
            check=False,
        )
        if ran.returncode == 0:
            if "--find-links" in options:
                print(f"{variant.lock} is not upgraded: {variant.index} cannot be reached", file=sys.stderr)
            return
        sys.stderr.write(ran.stderr)
    sys.exit(f"{variant.lock} was not made")


extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
locks = {variant.lock: variant for entry in ENVIRONMENTS.values() for variant in entry.variants}
for lock, variant in locks.items():
    compile_lock(variant, extras[variant.extra])
    print(f"{lock}: {variant.lock_path.read_text().count('==')} pins")
