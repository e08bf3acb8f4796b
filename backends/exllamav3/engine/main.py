"""The main module of ExLlamaV3's engine process: one loop reads the pipe and runs the generator, alternately.

The generator batches its jobs continuously, and only this loop calls it. A job that fails ends alone. An
exception of the generator itself leaves it in an undefined state, so the process ends, with the exception in
its log.
"""

from __future__ import annotations

import os
import sys
import traceback
from json import loads
from pathlib import Path
from typing import Any

from ...shared.engine.facts import capacity_facts, quantization_of, version_of
from ...shared.engine.pipe import Pipe
from .loop import ExllamaLoop
from .model import ExllamaLoadError, ExllamaModel, import_library
from .namespaces import PAGE


def main(arguments: list[str]) -> None:
    """Run an engine. Arguments: the descriptor to read from, the one to write to, the options as JSON."""
    pipe, options = Pipe(int(arguments[0]), int(arguments[1])), loads(arguments[2])
    code = 1
    try:
        loop = _load(pipe, options)
        pipe.ready(
            loop.slots,
            loop.context,
            version=version_of("exllamav3"),
            quantization=quantization_of(_config(options["model"])),
            **capacity_facts(options["cache_size"] // PAGE * PAGE, "tokens"),
        )
        loop.run()
        code = 0
    except ExllamaLoadError as error:
        if error.__cause__ is not None:  # the error of the library goes to the log
            traceback.print_exception(error.__cause__)
        pipe.failed(str(error))
    except Exception:
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)  # with a broken CUDA context a regular exit may hang


def _config(folder: str) -> dict[str, Any]:
    """The model's config.json, which it could not be loaded without."""
    config: dict[str, Any] = loads((Path(folder) / "config.json").read_text(encoding="utf-8"))
    return config


def _load(pipe: Pipe, options: dict[str, Any]) -> ExllamaLoop:
    """Load the model. Raises `ExllamaLoadError`."""
    pipe.load(0.0, "importing ExLlamaV3")
    return ExllamaLoop(pipe, ExllamaModel(import_library(options["compiled"]), options, pipe.load))
