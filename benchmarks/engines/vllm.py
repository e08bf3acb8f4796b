"""`vllm` through the platform (AsyncLLM in an engine process), and `vllm serve` asked directly.

Both have the same options; only the one that is asked computes.
"""

from __future__ import annotations

import secrets
from typing import Any

from backends.prompt_formats import QWEN3
from backends.vllm.arguments import VllmOptions
from benchmarks.engines.load_messages import TOKENS
from benchmarks.engines.pair import DIRECT, LOAD_S, SLOTS, Model, Pair, Place, Side, through_platform
from benchmarks.platform import HOST, fetch, pid, start, wait
from benchmarks.processes import Cpu, tree
from config.settings import ModelDefinition
from stoker.managed_process import Part, Plan
from stoker.ports import free_port
from workers.engine_process.process import clean_environment
from workers.environments import interpreter

NAME = "vllm"
OPTIONS: dict[str, Any] = {"vllm_max_model_len": 2 * TOKENS, "vllm_kv_cache_memory_bytes": 1 << 28}


def pair(place: Place, model: Model) -> Pair:
    """Start both. Raises `Broken`."""
    definition = {"backend": NAME, "model_path": str(model.folder), **OPTIONS}
    server, port, key = _serve(place, model)
    _, through = through_platform(place, model, definition)
    healthy = f"http://{HOST}:{port}/health"
    wait(server, lambda: fetch(healthy) is not None, "vllm serve does not come up", LOAD_S)
    direct = Side(DIRECT, port, key, Cpu({"engine": tree(pid(server))}))
    return Pair(NAME, model, (direct, through))


def _serve(place: Place, model: Model) -> tuple[Part, int, str]:
    """Start `vllm serve`: the process, its port, its key."""
    definition = ModelDefinition(
        name=model.name,
        backend=NAME,
        model_path=str(model.folder),
        device="cpu",
        prompt_format=QWEN3,
        options=OPTIONS,
    )
    options = VllmOptions.of(definition, SLOTS)
    python = interpreter(place.environments, NAME, options.python)
    port, key = free_port(HOST, 0), secrets.token_urlsafe(24)
    place.say("starting vllm serve")
    plan = Plan(
        name="vllm serve",
        argv=[
            *(str(python.with_name("vllm")), "serve", str(model.folder)),
            *("--host", HOST, "--port", str(port), *options.flags()),
        ],
        environment=clean_environment({**options.environment, "VLLM_API_KEY": key}),
        cwd=place.folder,
        log=place.folder / "vllm-serve.log",
    )
    return start(place.parts, plan), port, key
