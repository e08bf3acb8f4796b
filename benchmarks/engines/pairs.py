"""Starts each engine behind the platform, and a way to request the same engine directly."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from backends.prompt_formats import QWEN3
from backends.vllm.arguments import VllmOptions
from benchmarks.cpu_time import CpuMeter, listening_ports, tree
from benchmarks.engines.load_messages import TOKENS
from benchmarks.generator_process import BenchmarkError
from benchmarks.processes import HOST, BenchmarkPlatform, fetch, pid, start, start_platform, wait
from config.ports import free_port
from config.settings import ModelDefinition
from engines.engine_process.process import clean_environment
from engines.environments import interpreter
from stoker.managed_process import ManagedProcess, ProcessPlan

LLAMA_CPP, LLAMA_SERVER, VLLM, VLLM_SERVE = "llama_cpp", "llama_server", "vllm", "vllm_serve"
PLATFORM, DIRECT = "platform", "direct"
SLOTS = 32
LOAD_S = 300.0


@dataclass(frozen=True)
class BenchmarkModel:
    """A model in both file formats. `has_bar` is whether the bars apply to it."""

    name: str
    title: str
    gguf: Path
    folder: Path
    has_bar: bool


@dataclass(frozen=True)
class Side:
    """One server to send requests to: its port, the API key, and the processes whose CPU time counts."""

    name: str
    port: int
    key: str
    cpu: CpuMeter


@dataclass(frozen=True)
class Pair:
    """One engine with one model, directly and behind the platform."""

    engine: str
    model: BenchmarkModel
    sides: tuple[Side, Side]


@dataclass(frozen=True)
class Setup:
    """The processes to stop at the end, a folder for files, and the folder of the backends' environments.

    Models run on `device`, with `slots` slots of `context` tokens each; `gpu` is the one that is visible.
    """

    processes: list[ManagedProcess]
    folder: Path
    environments: Path
    log: Callable[[str], None]
    device: str = "cpu"
    gpu: str = ""
    slots: int = SLOTS
    context: int = 2 * TOKENS
    llama_server_binary: str | None = None

    def llama_options(self, prefix: str) -> dict[str, Any]:
        """The options of a llama.cpp backend. On a CPU it computes on one thread."""
        threads = {f"{prefix}_threads": 1} if self.device == "cpu" else {}
        return {f"{prefix}_n_ctx": self.context, **threads}

    def vllm_options(self) -> dict[str, Any]:
        """The options of both backends of vLLM. On a CPU the cache is small."""
        cache = {"vllm_kv_cache_memory_bytes": 1 << 28} if self.device == "cpu" else {}
        return {"vllm_max_model_len": self.context, **cache}


def llama_server_pair(setup: Setup, model: BenchmarkModel) -> Pair:
    """Start the platform, and request its llama-server directly. Raises `BenchmarkError`."""
    options = setup.llama_options(LLAMA_SERVER)
    if setup.llama_server_binary is not None:
        options["llama_server_binary"] = setup.llama_server_binary
    definition = {"backend": LLAMA_SERVER, "model_path": str(model.gguf), **options}
    return _managed_server_pair(setup, model, definition, "LLAMA_API_KEY")


def vllm_serve_pair(setup: Setup, model: BenchmarkModel) -> Pair:
    """Start the platform, and request its `vllm serve` process directly. Raises `BenchmarkError`."""
    definition = {"backend": VLLM_SERVE, "model_path": str(model.folder), **setup.vllm_options()}
    return _managed_server_pair(setup, model, definition, "VLLM_API_KEY")


def vllm_pair(setup: Setup, model: BenchmarkModel) -> Pair:
    """Start the platform with AsyncLLM in an engine process, and a separate `vllm serve`.

    Both have the same options; the one without requests uses no CPU. Raises `BenchmarkError`.
    """
    definition = {"backend": VLLM, "model_path": str(model.folder), **setup.vllm_options()}
    server, port, key = _start_vllm_serve(setup, model)
    _, platform_side = start_engine_platform(setup, model, definition)
    health = f"http://{HOST}:{port}/health"
    wait(server, lambda: fetch(health) is not None, "vllm serve does not start", LOAD_S)
    direct = Side(DIRECT, port, key, CpuMeter({"engine": tree(pid(server))}))
    return Pair(VLLM, model, (direct, platform_side))


PAIRS: Mapping[str, Callable[[Setup, BenchmarkModel], Pair]] = {
    LLAMA_SERVER: llama_server_pair,
    VLLM: vllm_pair,
    VLLM_SERVE: vllm_serve_pair,
}
"""The function that starts each engine."""


def start_engine_platform(
    setup: Setup, model: BenchmarkModel, definition: dict[str, Any]
) -> tuple[BenchmarkPlatform, Side]:
    """Run the platform with this one model and default settings otherwise."""
    common = {"enabled": True, "device": setup.device, "prompt_format": QWEN3}
    common["target_inflight"] = setup.slots
    settings = {
        "runtimes_dir": str(setup.environments),
        "responses": {"retention_s": 60},  # or Redis would fill in a long run
        "models": {model.name: {**common, **definition}},
    }
    setup.log("starting the platform")
    platform = start_platform(
        setup.processes, setup.folder / "platform", settings, load_s=LOAD_S, gpu=setup.gpu
    )
    return platform, Side(PLATFORM, platform.port, platform.keys.api_key, platform.cpu)


def _managed_server_pair(
    setup: Setup, model: BenchmarkModel, definition: dict[str, Any], key_variable: str
) -> Pair:
    """`key_variable` is the environment variable by which the adapter passes the API key to its server."""
    platform, platform_side = start_engine_platform(setup, model, definition)
    engine = platform.cpu.parts["engine"]
    for id in engine:  # the server comes before its child processes
        for port in listening_ports(id):
            direct = Side(DIRECT, port, _environment_variable(id, key_variable), CpuMeter({"engine": engine}))
            return Pair(definition["backend"], model, (direct, platform_side))
    raise BenchmarkError("no process of the engine listens")


def _environment_variable(pid: int, name: str) -> str:
    value = psutil.Process(pid).environ().get(name)
    if value is None:
        raise BenchmarkError("the engine has no key")
    return value


def _start_vllm_serve(setup: Setup, model: BenchmarkModel) -> tuple[ManagedProcess, int, str]:
    """Start `vllm serve`. Returns the process, its port and its API key."""
    definition = ModelDefinition(
        name=model.name,
        backend=VLLM,
        model_path=str(model.folder),
        device=setup.device,
        prompt_format=QWEN3,
        options=setup.vllm_options(),
    )
    options = VllmOptions.of(definition, setup.slots)
    python = interpreter(setup.environments, VLLM, options.python)
    port, key = free_port(HOST, 0), secrets.token_urlsafe(24)
    setup.log("starting vllm serve")
    plan = ProcessPlan(
        name="vllm serve",
        argv=[
            *(str(python.with_name("vllm")), "serve", str(model.folder)),
            *("--host", HOST, "--port", str(port), *options.flags()),
        ],
        environment=clean_environment(
            {**options.environment, "VLLM_API_KEY": key, "CUDA_VISIBLE_DEVICES": setup.gpu}
        ),
        cwd=setup.folder,
        log=setup.folder / "vllm-serve.log",
    )
    return start(setup.processes, plan), port, key
