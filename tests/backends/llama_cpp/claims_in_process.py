"""Claims sequences for requests with a common prompt, under the environment's Python.

    python claims_in_process.py MODEL

Prints as JSON which requests got a sequence: the first one, and while it still reads the prompt, one of
another namespace, one without a namespace, and one of the same.
"""

from __future__ import annotations

import json
import os
import sys
from importlib import import_module
from pathlib import Path

OPTIONS = {
    "slots": 4,
    "n_ctx": 1024,
    "n_gpu_layers": 0,
    "flash_attn": "auto",
    "type_k": "f16",
    "type_v": "f16",
    "pooling": None,
    "chat_template_kwargs": {},
}
OPTIONS |= {"threads": 1, "batch": 64, "cache_prompt": True, "lora": {}, "prompt_format": "generic"}
OPTIONS["ctx_checkpoints"] = 8


def main(model: str) -> None:
    assembly = import_module("backends.llama_cpp.engine.assembly")
    request = import_module("backends.llama_cpp.engine.running_request").RunningRequest
    pipe = import_module("backends.shared.engine.pipe").Pipe(os.pipe()[0], os.pipe()[1])
    loop, *_ = assembly.assemble(pipe, {**OPTIONS, "model": model})
    numpy = import_module("numpy")
    tokens = numpy.arange(5, 505, dtype=numpy.int32)
    claimed = {}
    for number, namespace in enumerate(("first", "other", None, "first")):
        made = request(number, tokens.copy(), len(tokens), 1, None, namespace)
        claimed[number] = loop._prefix_cache.claim(made) is not None
    print(json.dumps(list(claimed.values())))


if __name__ == "__main__":
    package = type(sys)("backends")
    package.__path__ = [str(Path(__file__).parents[3] / "backends")]
    sys.modules["backends"] = package
    main(sys.argv[1])
