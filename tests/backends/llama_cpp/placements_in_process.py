"""Runs rounds of conversations on the engine in this process, under the environment's Python.

    python placements_in_process.py MODEL CACHE

CACHE is `cache` or `none` (no prefix is reused). A full round uses all sequences. Then a part of its
conversations goes on, new ones begin, and a part goes on again. Prints for each round as JSON the answers,
the tokens of the prompts that were cached, and in how many groups of neighbouring sequences its requests were
when most of them ran.
"""

from __future__ import annotations

import json
import os
import select
import sys
import threading
from importlib import import_module
from pathlib import Path
from typing import Any

SLOTS = 16
OPTIONS = {"slots": SLOTS, "n_ctx": 1024, "n_gpu_layers": 0, "flash_attn": "auto", "threads": 1, "batch": 64}
OPTIONS |= {"type_k": "f16", "type_v": "f16", "pooling": None, "lora": {}, "prompt_format": "generic"}
OPTIONS |= {"chat_template_kwargs": {}}
MAX_TOKENS = 24
PIPE_BYTES = 1 << 16
ROUNDS = (range(SLOTS), range(1, SLOTS, 2), range(SLOTS, SLOTS + 8), range(0, SLOTS + 8, 3))
"""The conversations of each round."""


def main(model: str, cache: str) -> None:
    assembly = import_module("backends.llama_cpp.engine.assembly")
    engine_in, worker_out = os.pipe()
    worker_in, engine_out = os.pipe()
    pipe = import_module("backends.shared.engine.pipe").Pipe(engine_in, engine_out)
    loop, *_ = assembly.assemble(
        pipe, {**OPTIONS, "model": model, "cache_prompt": cache == "cache", "ctx_checkpoints": 8}
    )
    runner, most = loop._step_runner, [(0, 0)]
    advance = runner.advance

    def observed(step: Any) -> Any:
        ids = [share.sequence.id for share in runner.running]
        if len(ids) > most[0][0]:
            most[0] = (len(ids), sum(id - 1 not in ids for id in ids))
        return advance(step)

    runner.advance = observed
    admit = loop._admit

    def admit_all(step: Any) -> None:
        while loop._tokenizing:  # on a busy machine others would have ended before the last one is tokenized
            select.select([loop._tokenizers], [], [])
            loop._accept_ready(step)
        admit(step)

    loop._admit = admit_all
    results: list[dict[str, Any]] = []
    client = threading.Thread(target=_run_client, args=(worker_in, worker_out, most, results))
    client.start()
    loop.run()
    client.join()
    print(json.dumps(results))


def _run_client(
    worker_in: int, worker_out: int, most: list[tuple[int, int]], results: list[dict[str, Any]]
) -> None:
    try:
        _run_rounds(worker_in, worker_out, most, results)
    finally:
        os.close(worker_out)  # the engine ends


def _run_rounds(
    worker_in: int, worker_out: int, most: list[tuple[int, int]], results: list[dict[str, Any]]
) -> None:
    talks: dict[int, list[dict[str, str]]] = {}
    frames = _frames(worker_in)
    for turn, conversations in enumerate(ROUNDS):
        most[0] = (0, 0)
        requests = b""
        for talk in conversations:
            question = f"What is {'very ' * talk}{turn}?"
            talks.setdefault(talk, []).append({"role": "user", "content": question})
            body = {"messages": talks[talk], "temperature": 0.0, "max_tokens": MAX_TOKENS}
            message = {"generate": talk, "generation": body | {"cache_namespace": f"tenant {talk}"}}
            data = json.dumps(message).encode()
            requests += len(data).to_bytes(4, "big") + data
        assert len(requests) < PIPE_BYTES, "the requests of a round reach the engine in one write"
        os.write(worker_out, requests)
        answers = dict.fromkeys(conversations, "")
        cached = dict.fromkeys(conversations, 0)
        left = len(answers)
        while left:
            frame = next(frames)
            assert not frame.get("errors"), frame
            for talk, pieces in frame.get("text", ()):
                answers[talk] += "".join(pieces)
            for talk, _, usage, _ in frame.get("ends", ()):
                cached[talk] = usage[2]
                left -= 1
        for talk, answer in answers.items():
            talks[talk].append({"role": "assistant", "content": answer})
        results.append({"answers": answers, "cached": cached, "running": most[0][0], "groups": most[0][1]})


def _frames(worker_in: int) -> Any:
    data = b""
    while True:
        data += os.read(worker_in, 1 << 16)
        while len(data) >= 4 and len(data) >= 4 + (size := int.from_bytes(data[:4], "big")):
            yield json.loads(data[4 : 4 + size])
            data = data[4 + size :]


if __name__ == "__main__":
    package = type(sys)("backends")
    package.__path__ = [str(Path(__file__).parents[3] / "backends")]
    sys.modules["backends"] = package
    main(sys.argv[1], sys.argv[2])
