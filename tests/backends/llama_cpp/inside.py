"""Runs the engine's parts in this process, under the environment's Python, to inject failures of the library.

    python inside.py MODEL WHAT PROMPT...

WHAT is `nothing` or `aborts` (the library gives up in the middle of steps, now and then). Prints the answers
as JSON, then what happened how often.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
import threading
from importlib import import_module
from pathlib import Path

SLOTS = 6
TOKENS = 40
ABORTS = 9


def main(model: str, what: str, prompts: list[str]) -> None:
    host = import_module("backends.llama_cpp.engine.assembly")
    options = {"model": model, "slots": SLOTS, "n_ctx": 1024, "n_gpu_layers": 0, "flash_attn": "auto"}
    options |= {"type_k": "f16", "type_v": "f16", "threads": 1, "batch": 64, "cache_prompt": True}
    here, worker = os.pipe()
    worker_in, here_out = os.pipe()
    pipe = import_module("backends.shared.engine.pipe").Pipe(here, here_out)
    engine, loaded = host.assemble(pipe, {**options, "prompt_format": "generic"})
    happened = [0]
    if what == "aborts":
        abort = _aborting(happened)
        loaded_library = import_module("llama_cpp")
        callback = ctypes.cast(abort, loaded_library.ggml_abort_callback)
        loaded_library.llama_set_abort_callback(loaded.context, callback, None)
    answers: dict[int, list[str]] = {number: [] for number in range(len(prompts))}
    reader = threading.Thread(target=_gather, args=(worker_in, worker, answers))
    reader.start()
    for number, prompt in enumerate(prompts):
        most = TOKENS if number % 3 else 5  # some leave early, so that gaps open
        body = {"messages": [{"role": "user", "content": prompt}], "temperature": 0.0, "max_tokens": most}
        message = json.dumps({"generate": number, "generation": body}).encode()
        os.write(worker, len(message).to_bytes(4, "big") + message)
    engine.loop()
    texts = ["".join(answers[number]) for number in sorted(answers)]
    print(json.dumps({"answers": texts, "happened": happened[0]}))


def _aborting(happened: list[int]) -> object:
    """A callback that gives up at every so many nodes of the computation."""
    nodes = [0]

    @ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.c_void_p)
    def abort(_data: object) -> bool:
        nodes[0] += 1
        if nodes[0] % 1499 or happened[0] == ABORTS:
            return False
        happened[0] += 1
        return True

    return abort


def _gather(source: int, other: int, answers: dict[int, list[str]]) -> None:
    """Take frames until every answer has ended, then hang up."""
    left, data = len(answers), b""
    while left:
        data += os.read(source, 1 << 16)
        while len(data) >= 4 and len(data) >= 4 + (size := int.from_bytes(data[:4], "big")):
            frame, data = json.loads(data[4 : 4 + size]), data[4 + size :]
            for number, pieces in frame.get("text", ()):
                answers[number] += pieces
            for number, code, _ in frame.get("errors", ()):
                answers[number] = [code]
            left -= len(frame.get("ends", ())) + len(frame.get("errors", ()))
    os.close(other)


if __name__ == "__main__":
    package = type(sys)("backends")
    package.__path__ = [str(Path(__file__).parents[3] / "backends")]
    sys.modules["backends"] = package
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
