"""Starts the measured variants: platforms with 1, 2 and 4 API processes, and the peers with 1 and 4 gateways.

All of them have four replicas of the same model and options. Peers need llama-servers: these
belong to a model of the platform that no request names. The adapter starts them, and the gateways call them
past the platform.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from backends.prompt_formats import QWEN3
from benchmarks.cli import Log
from benchmarks.cpu_time import listening_ports
from benchmarks.generator_process import BenchmarkError
from benchmarks.locality.localities import DEFAULT, LOCALITIES, PROCESSES, several, stoker
from benchmarks.locality.workloads import tenant_name
from benchmarks.peers.environments import SMG, VLLM_ROUTER, program_of
from benchmarks.processes import HOST, BenchmarkPlatform, fetch, running, start, start_platform, wait
from config.ports import free_port
from config.settings import ROOT, Locality
from stoker.managed_process import ManagedProcess, ProcessPlan

REPLICAS, SLOTS, CONTEXT = 4, 4, 3072
GATEWAYS = 4
LOAD_S, START_S = 300.0, 120.0
SERVER_KEY = "key-of-the-benchmark"
KEYS = {tenant_name(number): f"sk-benchmark-{number}" for number in range(4)}
LLAMA_SERVER = "llama_server"
BACKENDS: dict[str, dict[str, Any]] = {
    LLAMA_SERVER: {"llama_server_n_ctx": CONTEXT, "llama_server_threads": 1},
    "llama_cpp": {"gguf_n_ctx": CONTEXT, "gguf_threads": 1},
}
"""The backends of the measured replicas, with their options."""

DIRECT = "direct"
"""The model of the peers' servers."""

PEER_POLICIES = ((SMG, "round_robin"), (SMG, "cache_aware"), (VLLM_ROUTER, "cache_aware"))
COMMANDS = {SMG: ("launch",), VLLM_ROUTER: ()}


@dataclass(frozen=True)
class LocalityVariant:
    """Where a variant's requests are sent: the ports of its gateways, the API keys by tenant, the model.

    `admin_key` is that of a platform, "" of a peer.
    """

    name: str
    ports: tuple[int, ...]
    keys: Mapping[str, str]
    model: str
    admin_key: str = ""


def peer(name: str, policy: str) -> str:
    """The name of a peer's variant."""
    return f"{name}, {policy}"


def variant_names(backend: str = LLAMA_SERVER) -> list[str]:
    """All variants with replicas of a backend. Several processes are measured with the default alone."""
    platforms = [stoker(locality) for locality in LOCALITIES]
    more = [several(stoker(DEFAULT), count) for count in PROCESSES]
    peers = [peer(*found) for found in PEER_POLICIES] if backend == LLAMA_SERVER else []
    return [*platforms, *more, *(name for found in peers for name in (found, several(found, GATEWAYS)))]


@contextmanager
def start_variants(  # noqa: PLR0913, PLR0917 - what a run chooses
    folder: Path, backend: str, model: Path, environments: Path, names: Sequence[str], log: Log
) -> Iterator[list[LocalityVariant]]:
    """Start the named variants; they are stopped at the end of the block. Raises `BenchmarkError`."""
    with running(log) as processes:
        found: list[LocalityVariant] = []
        localities = [locality for locality in LOCALITIES if stoker(locality) in names]
        peers = [pair for pair in PEER_POLICIES if {peer(*pair), several(peer(*pair), GATEWAYS)} & set(names)]
        models = {f"locality-{locality}": _model(backend, model, locality) for locality in localities}
        if peers:
            models[DIRECT] = {**_model(backend, model, DEFAULT), "llama_server_api_key": SERVER_KEY}
        if models:
            log(f"starting the platform with {REPLICAS * len(models)} engines")
            platform = _platform(processes, folder / "platform", environments, models, 1)
            found += [_platform_variant(platform, stoker(locality), locality) for locality in localities]
        for count in PROCESSES:
            if several(stoker(DEFAULT), count) in names:
                log(f"starting the platform with {count} API processes")
                models = {f"locality-{DEFAULT}": _model(backend, model, DEFAULT)}
                other = _platform(processes, folder / f"platform-{count}", environments, models, count)
                found.append(_platform_variant(other, several(stoker(DEFAULT), count), DEFAULT))
        if peers:
            servers = direct_ports(platform)
            for pair in peers:
                for count, title in ((1, peer(*pair)), (GATEWAYS, several(peer(*pair), GATEWAYS))):
                    if title in names:
                        log(f"starting {title}")
                        found.append(_peer_variant(processes, folder, title, pair, count, servers))
        yield found


def _model(backend: str, path: Path, locality: Locality) -> dict[str, Any]:
    return {
        "backend": backend,
        "model_path": str(path),
        "enabled": True,
        "prompt_format": QWEN3,
        "replicas": REPLICAS,
        "replica_max": REPLICAS,
        "target_inflight": SLOTS,
        "locality": locality,
        **BACKENDS[backend],
    }


def _platform(
    processes: list[ManagedProcess], home: Path, environments: Path, models: Mapping[str, Any], count: int
) -> BenchmarkPlatform:
    digests = {name: hashlib.sha256(key.encode()).hexdigest() for name, key in KEYS.items()}
    settings = {
        "runtimes_dir": str(environments),
        "api": {"processes": count},
        "responses": {"retention_s": 60},  # or Redis would fill in a long run
        "tenants": {name: {"api_keys_sha256": [digest]} for name, digest in digests.items()},
        "models": models,
    }
    return start_platform(processes, home, settings, load_s=LOAD_S)


def _platform_variant(platform: BenchmarkPlatform, name: str, locality: Locality) -> LocalityVariant:
    return LocalityVariant(name, (platform.port,), KEYS, f"locality-{locality}", platform.keys.admin_key)


def direct_ports(platform: BenchmarkPlatform) -> list[int]:
    """The ports of the peers' servers. Raises `BenchmarkError` unless there are as many as replicas."""
    ports: list[int] = []
    for id in platform.cpu.parts["engine"]:
        if psutil.Process(id).environ().get("LLAMA_API_KEY") == SERVER_KEY:
            ports += listening_ports(id)
    if len(set(ports)) != REPLICAS:
        raise BenchmarkError(f"{len(set(ports))} of the peers' {REPLICAS} servers listen")
    return sorted(set(ports))


def _peer_variant(  # noqa: PLR0913, PLR0917 - what a gateway needs
    processes: list[ManagedProcess],
    folder: Path,
    title: str,
    kind: tuple[str, str],
    count: int,
    servers: Sequence[int],
) -> LocalityVariant:
    ports = tuple(_start_gateway(processes, folder, title, kind, servers) for _ in range(count))
    listed = json.loads(fetch(f"http://{HOST}:{servers[0]}/v1/models", SERVER_KEY) or b'{"data": []}')
    names = [model["id"] for model in listed["data"]]
    if not names:
        raise BenchmarkError("the peers' servers list no model")
    return LocalityVariant(title, ports, dict.fromkeys(KEYS, SERVER_KEY), names[0])


def _start_gateway(
    processes: list[ManagedProcess], folder: Path, title: str, kind: tuple[str, str], servers: Sequence[int]
) -> int:
    """Start a gateway with the defaults of its program, and wait until it is healthy. Returns its port."""
    name, policy = kind
    port = free_port(HOST, 0)
    urls = [f"http://{HOST}:{server}" for server in servers]
    argv = [
        *(str(program_of(name)), *COMMANDS[name], "--policy", policy, "--worker-urls", *urls),
        *("--api-key", SERVER_KEY, "--log-level", "error", "--host", HOST, "--port", str(port)),
        *("--prometheus-host", HOST, "--prometheus-port", str(free_port(HOST, 0))),
    ]
    log = folder / f"{title.replace(' ', '-').replace(',', '')}-{port}.log"
    process = start(processes, ProcessPlan(name=title, argv=argv, cwd=ROOT, log=log))
    health = f"http://{HOST}:{port}/health"
    wait(process, lambda: fetch(health) is not None, f"{title} does not start", START_S)
    return port
