"""Runs the engine in this process, under the environment's Python, to inject failures of the library.

    python engine_in_process.py MODEL FAULT PROMPT...

FAULT is `none` or `abort` (the library aborts a step in its middle, several times). Prints the answers and
the number of injected faults as JSON.
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
MAX_TOKENS, FEW_TOKENS = 40, 5
MAX_ABORTS = 9
NODES_PER_ABORT = 1499  # nodes of the library's computation graph


def main(model: str, fault: str, prompts: list[str]) -> None:
    assembly = import_module("backends.llama_cpp.engine.assembly")
    options = {"model": model, "slots": SLOTS, "n_ctx": 1024, "n_gpu_layers": 0, "flash_attn": "auto"}
    options |= {"type_k": "f16", "type_v": "f16", "threads": 1, "batch": 64, "cache_prompt": True, "lora": {}}
    options["ctx_checkpoints"] = 8
    options |= {"pooling": None, "chat_template_kwargs": {}}
    engine_in, worker_out = os.pipe()
    worker_in, engine_out = os.pipe()
    pipe = import_module("backends.shared.engine.pipe").Pipe(engine_in, engine_out)
    loop, loaded, _ = assembly.assemble(pipe, {**options, "prompt_format": "generic"})
    faults = [0]
    if fault == "abort":
        abort = _abort_callback(faults)
        library = import_module("llama_cpp")
        callback = ctypes.cast(abort, library.ggml_abort_callback)
        library.llama_set_abort_callback(loaded.context, callback, None)
    answers: dict[int, list[str]] = {number: [] for number in range(len(prompts))}
    reader = threading.Thread(target=_read_answers, args=(worker_in, worker_out, answers))
    reader.start()
    for number, prompt in enumerate(prompts):
        # some requests end early, so that gaps between the used sequences appear
        max_tokens = MAX_TOKENS if number % 3 else FEW_TOKENS
        body = {
            "messages": [{"role": "user", "content": prompt}],
            "temperature": 0.0,
            "max_tokens": max_tokens,
        }
        message = json.dumps({"generate": number, "generation": body}).encode()
        os.write(worker_out, len(message).to_bytes(4, "big") + message)
    loop.run()
    texts = ["".join(answers[number]) for number in sorted(answers)]
    print(json.dumps({"answers": texts, "faults": faults[0]}))


def _abort_callback(faults: list[int]) -> object:
    """A callback that aborts the computation at every `NODES_PER_ABORT`th node; it counts in `faults`."""
    nodes = [0]

    @ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.c_void_p)
    def abort(_data: object) -> bool:
        nodes[0] += 1
        if nodes[0] % NODES_PER_ABORT or faults[0] == MAX_ABORTS:
            return False
        faults[0] += 1
        return True

    return abort


def _read_answers(worker_in: int, worker_out: int, answers: dict[int, list[str]]) -> None:
    """Read frames until every answer has ended, then close the worker's end, which ends the engine."""
    left, data = len(answers), b""
    while left:
        data += os.read(worker_in, 1 << 16)
        while len(data) >= 4 and len(data) >= 4 + (size := int.from_bytes(data[:4], "big")):
            frame, data = json.loads(data[4 : 4 + size]), data[4 + size :]
            for number, pieces in frame.get("text", ()):
                answers[number] += pieces
            for number, code, _ in frame.get("errors", ()):
                answers[number] = [code]
            left -= len(frame.get("ends", ())) + len(frame.get("errors", ()))
    os.close(worker_out)


if __name__ == "__main__":
    package = type(sys)("backends")
    package.__path__ = [str(Path(__file__).parents[3] / "backends")]
    sys.modules["backends"] = package
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
