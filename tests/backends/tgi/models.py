"""Models of `tgi` that run on the double of TGI, and the double as a server of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from config.settings import ROOT, ModelDefinition
from tests.conftest import free_port

LAUNCHER = ROOT / "tests" / "support" / "tgi_double" / "launcher.py"
CONTEXT = 4096


def launcher_in(folder: Path) -> Path:
    """Write a program text-generation-launcher to a folder, which runs the double. Returns its path."""
    program = folder / "text-generation-launcher"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -I -S "{LAUNCHER}" "$@"\n')
    program.chmod(0o755)
    return program


def model_in(folder: Path, **fields: Any) -> ModelDefinition:
    """Write a model and the program to a folder. `fields` are options without prefix, or those of a model."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(
        json.dumps({"torch_dtype": "bfloat16", "max_position_embeddings": CONTEXT})
    )
    known = {name: fields.pop(name) for name in list(fields) if name in ModelDefinition.__dataclass_fields__}
    options = {"binary": str(launcher_in(folder)), "max_total_tokens": CONTEXT, **fields}
    named = {f"tgi_{name}": value for name, value in options.items()}
    return ModelDefinition("model", "tgi", **{"model_path": str(folder), "options": named, **known})


@contextmanager
def running_tgi(folder: Path, *, key: str | None = None, context: int = CONTEXT) -> Iterator[str]:
    """Run the double as a server that somebody else has started. Yields its URL, without a path."""
    port = free_port()
    arguments = {
        "--model-id": str(folder),
        "--hostname": "127.0.0.1",
        "--port": str(port),
        "--max-concurrent-requests": "128",
        "--max-stop-sequences": "4",
        "--payload-limit": "2000000",
        "--max-total-tokens": str(context),
    }
    command = [sys.executable, "-I", "-S", LAUNCHER, *(part for pair in arguments.items() for part in pair)]
    environment = {name: value for name, value in os.environ.items() if name != "API_KEY"}
    environment |= {} if key is None else {"API_KEY": key}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            assert any("Connected" in line for line in server.stdout)
            yield f"http://127.0.0.1:{port}"
        finally:
            server.terminate()
