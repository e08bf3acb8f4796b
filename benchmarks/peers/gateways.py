"""Starts the compared gateways and their upstream. Each gateway is configured in its own favour."""

from __future__ import annotations

import json
import secrets
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.cpu_time import CpuMeter, tree
from benchmarks.generator_process import BenchmarkError
from benchmarks.load_messages import PACED
from benchmarks.peers.environments import LITELLM, SMG, VLLM_ROUTER, program_of
from benchmarks.processes import HOST, fetch, is_listening, pid, start, wait
from benchmarks.variants import CHAT, BenchmarkVariant
from config.ports import free_port
from config.settings import ROOT
from stoker.managed_process import ManagedProcess, ProcessPlan

SOURCE = Path(__file__).parent / "upstream.c"
UPSTREAM_MODELS = ("instant", PACED.model)
START_S = 120.0

LITELLM_VARIABLES = {
    "LITELLM_MODE": "PRODUCTION",
    "LITELLM_LOG": "ERROR",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",  # the prices of its package, instead of a download
    "NO_DOCS": "True",
}


@dataclass(frozen=True)
class Upstream:
    """The running upstream: one process for each model, because SMG knows one model of a server only."""

    processes: Mapping[str, ManagedProcess]
    ports: Mapping[str, int]

    def url(self, model: str) -> str:
        """The address of the process that lists this model."""
        return f"http://{HOST}:{self.ports[model]}"


@dataclass(frozen=True)
class PeerSetup:
    """What starting a peer needs: the list of processes to stop at the end, a folder, the upstream."""

    processes: list[ManagedProcess]
    folder: Path
    upstream: Upstream


def start_upstream(processes: list[ManagedProcess], folder: Path) -> Upstream:
    """Compile and start the upstream. Raises `BenchmarkError`, also without a C compiler."""
    program, compiler = folder / "upstream", shutil.which("cc")
    if compiler is None:
        raise BenchmarkError("the upstream is a C program: install a C compiler (`cc`)")
    compiled = subprocess.run(
        [compiler, "-O2", "-o", program, SOURCE], capture_output=True, text=True, check=False
    )
    if compiled.returncode:
        raise BenchmarkError(f"the upstream cannot be compiled: {compiled.stderr}")
    started, ports = {}, {}
    for model in UPSTREAM_MODELS:
        port = free_port(HOST, 0)
        plan = ProcessPlan(
            name=f"upstream {model}",
            argv=[str(program), str(port), model],
            log=folder / f"upstream-{model}.log",
        )
        started[model], ports[model] = start(processes, plan), port
        wait(started[model], lambda port=port: is_listening(port), "the upstream does not listen")  # type: ignore[misc]
    return Upstream(started, ports)


def start_litellm(setup: PeerSetup) -> BenchmarkVariant:
    """LiteLLM: one uvicorn process with uvloop and httptools, known prices, no database, one key."""
    models = [
        {
            "model_name": model,
            "litellm_params": {
                "model": f"openai/{model}",
                "api_base": f"{setup.upstream.url(model)}/v1",
                "api_key": "none",
            },
            "model_info": {"base_model": "gpt-4o-mini"},  # without a price each request takes longer
        }
        for model in UPSTREAM_MODELS
    ]
    config = setup.folder / "litellm.json"
    config.write_text(json.dumps({"model_list": models}))  # JSON is YAML
    options = ("--config", str(config), "--num_workers", "1", "--telemetry", "False")
    key = f"sk-{secrets.token_urlsafe(24)}"  # it refuses to start without one
    variables = {**LITELLM_VARIABLES, "LITELLM_MASTER_KEY": key}
    return replace(_start(setup, LITELLM, options, "/health/liveliness", variables), key=key)


def start_smg(setup: PeerSetup) -> BenchmarkVariant:
    """SMG with its cheapest policy; it takes the names of the models from the upstream's lists."""
    urls = [setup.upstream.url(model) for model in UPSTREAM_MODELS]
    return _start_router(setup, SMG, ("launch",), urls, "error")


def start_vllm_router(setup: PeerSetup) -> BenchmarkVariant:
    """vllm-router with its cheapest policy; it does not look at the names of models."""
    return _start_router(setup, VLLM_ROUTER, (), [setup.upstream.url(UPSTREAM_MODELS[0])], "error")


def _start_router(
    setup: PeerSetup, peer: str, command: Sequence[str], urls: Sequence[str], log_level: str
) -> BenchmarkVariant:
    options = (
        *(*command, "--policy", "round_robin", "--worker-urls", *urls, "--log-level", log_level),
        # the default port may be taken, by the other router too
        *("--prometheus-host", HOST, "--prometheus-port", str(free_port(HOST, 0))),
    )
    return _start(setup, peer, options, "/health")


def _start(
    setup: PeerSetup,
    peer: str,
    options: Sequence[str],
    health: str,
    variables: Mapping[str, str] | None = None,
) -> BenchmarkVariant:
    """Start a peer's program and wait until it is healthy."""
    port = free_port(HOST, 0)
    process = start(
        setup.processes,
        ProcessPlan(
            name=peer,
            argv=[str(program_of(peer)), *options, "--host", HOST, "--port", str(port)],
            environment=variables or {},
            cwd=ROOT,
            log=setup.folder / f"{peer}.log",
        ),
    )
    wait(
        process, lambda: fetch(f"http://{HOST}:{port}{health}") is not None, f"{peer} does not start", START_S
    )
    return BenchmarkVariant(peer, port, "none", CpuMeter({peer: tree(pid(process))}), path=CHAT)


START_PEER: Mapping[str, Callable[[PeerSetup], BenchmarkVariant]] = {
    LITELLM: start_litellm,
    SMG: start_smg,
    VLLM_ROUTER: start_vllm_router,
}
