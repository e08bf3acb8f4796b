"""ExLlamaV3's engine host: one loop that reads the pipe and lets the generator take a step, in turns.

The generator batches what is there (continuous batching) and is spoken to from this loop alone. A job that
fails fails by itself; what escapes the generator leaves it in no known state, so the host ends, with the
reason in its log.
"""

from __future__ import annotations

import os
import sys
import traceback
from json import loads
from typing import Any

from ...shared.engine.pipe import Pipe
from .library import LoadFailed, library
from .loop import Loop
from .model import Model


def main(arguments: list[str]) -> None:
    """Run an engine: the fd to read from, the fd to write to, the options of the adapter as JSON."""
    pipe, options = Pipe(int(arguments[0]), int(arguments[1])), loads(arguments[2])
    code = 1
    try:
        loop = _load(pipe, options)
        pipe.ready(loop.slots, loop.context)
        loop.run()
        code = 0
    except LoadFailed as error:
        if error.__cause__ is not None:  # in its own words
            traceback.print_exception(error.__cause__)
        pipe.failed(str(error))
    except Exception:
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)  # a broken CUDA context may hang whoever tidies up


def _load(pipe: Pipe, options: dict[str, Any]) -> Loop:
    """Raises `LoadFailed`."""
    pipe.load(0.0, "importing ExLlamaV3")
    return Loop(pipe, Model(library(options["compiled"]), options, pipe.load))
