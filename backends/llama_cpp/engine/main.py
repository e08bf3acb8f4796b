"""The engine process of llama_cpp: llama-cpp-python's library, with continuous batching in Python.

- `assembly` builds the engine from these parts; `model` loads the file
- `tokenizer_pool` turns requests into `RunningRequest`s (`request`), each with its `output`
- `loop` reads the pipe and runs the steps; `step_runner` computes one `batch` at a time
- `loras` chooses the LoRA adapter of a step
- `prefix_cache` chooses the `sequence` that a prompt is read into
- `vector_assembly` and `vector_loop` take their place in a model that makes vectors of texts
"""

from __future__ import annotations

import sys
from importlib import import_module
from json import loads
from typing import Any

from ...shared.engine.pipe import Pipe

LIBRARIES = ("llama_cpp", "numpy", "jinja2")


def main(arguments: list[str]) -> None:
    """Run an engine. Arguments: the descriptor to read from, the one to write to, the options as JSON."""
    pipe, options = Pipe(int(arguments[0]), int(arguments[1])), loads(arguments[2])
    pipe.load(0.0, "starting the engine")
    try:
        for name in LIBRARIES:
            import_module(name)
    except (ImportError, OSError, RuntimeError) as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        pipe.failed("llama-cpp-python cannot be imported: run `stoker runtimes install llama_cpp`")
        sys.exit(1)
    name = ".assembly" if options["pooling"] is None else ".vector_assembly"
    assembly: Any = import_module(name, __package__)  # it imports the libraries
    assembly.run(pipe, options)
