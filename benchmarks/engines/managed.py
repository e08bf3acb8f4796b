"""A managed server (`llama_server`, `vllm_serve`) through the platform, and that process asked directly."""

from __future__ import annotations

from typing import Any

import psutil

from benchmarks.engines.load_messages import TOKENS
from benchmarks.engines.pair import DIRECT, Model, Pair, Place, Side, through_platform
from benchmarks.engines.vllm import OPTIONS
from benchmarks.generator_process import Broken
from benchmarks.processes import Cpu, listening_ports

LLAMA_SERVER, VLLM_SERVE = "llama_server", "vllm_serve"


def llama_server(place: Place, model: Model) -> Pair:
    """Start the platform and find its engine, which computes on one thread. Raises `Broken`."""
    options = {"llama_server_n_ctx": 2 * TOKENS, "llama_server_threads": 1}
    definition = {"backend": LLAMA_SERVER, "model_path": str(model.gguf), **options}
    return _pair(place, model, definition, "LLAMA_API_KEY")


def vllm_serve(place: Place, model: Model) -> Pair:
    """Start the platform and find its engine. Raises `Broken`."""
    definition = {"backend": VLLM_SERVE, "model_path": str(model.folder), **OPTIONS}
    return _pair(place, model, definition, "VLLM_API_KEY")


def _pair(place: Place, model: Model, definition: dict[str, Any], variable: str) -> Pair:
    """`variable` is the one in which the adapter gives its server the key."""
    up, through = through_platform(place, model, definition)
    engine = up.cpu.parts["engine"]
    for pid in engine:  # the server before what it starts itself
        for port in listening_ports(pid):
            direct = Side(DIRECT, port, _key_of(pid, variable), Cpu({"engine": engine}))
            return Pair(definition["backend"], model, (direct, through))
    raise Broken("no process of the engine listens")


def _key_of(pid: int, variable: str) -> str:
    key = psutil.Process(pid).environ().get(variable)
    if key is None:
        raise Broken("the engine has no key")
    return key
