"""`python -m tests.workers.environments`: lock the newest versions that fit the runtimes' extras (`make lock`).

uv asks the indexes that its own variables name. What has a local version, such as torch 2.13.0+cpu, may also
lie in pip's PIP_FIND_LINKS, and else on an index of its own.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

from backends.environment import Variant
from config.settings import ROOT
from workers.environments.table import ENVIRONMENTS

UV = Path(sys.executable).with_name("uv")
OPTIONS = ("--quiet", "--upgrade", "--universal", "--no-annotate", "--python-version", "3.11")


def compile_lock(variant: Variant, requirements: list[str]) -> None:
    argv = [UV, "pip", "compile", *OPTIONS, "-", "--output-file", variant.lock_path]
    argv += [word for name in variant.left_out for word in ("--no-emit-package", name)]
    environment = {"UV_CUSTOM_COMPILE_COMMAND": "make lock"}
    attempts = [[]]
    if variant.index and (links := os.environ.get("PIP_FIND_LINKS")):
        environment["UV_FIND_LINKS"] = links
    if variant.index:
        attempts.append(["--index", variant.index, "--index-strategy", "unsafe-best-match"])
    for more in attempts:
        ran = subprocess.run(
            [*argv, *more],
            input="\n".join(requirements),
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            check=False,
        )
        if ran.returncode == 0:
            return
        sys.stderr.write(ran.stderr)
    sys.exit(f"{variant.lock} was not made")


extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
made = {variant.lock: variant for entry in ENVIRONMENTS.values() for variant in entry.variants}
for lock, variant in made.items():
    compile_lock(variant, extras[variant.extra])
    print(f"{lock}: {variant.lock_path.read_text().count('==')} pins")
