"""Starts the variants of the comparison: upstream, bare proxy, the platform twice, and the peers."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.cli import Log
from benchmarks.cpu_time import CpuMeter, tree
from benchmarks.generator_process import BenchmarkError
from benchmarks.load_messages import ONE, PACED
from benchmarks.peers.environments import LITELLM, SMG, VLLM_ROUTER
from benchmarks.peers.gateways import START_PEER, UPSTREAM_MODELS, PeerSetup, start_upstream
from benchmarks.processes import HOST, fetch, pid, running, start, start_platform, wait
from benchmarks.proxy import CLIENTS
from benchmarks.rounds import request_body
from benchmarks.variants import CHAT, PROXY_THREADS, SLOTS, BenchmarkVariant, stub_models
from config.ports import free_port
from config.settings import ROOT
from stoker.managed_process import ManagedProcess, ProcessPlan

UPSTREAM, PROXY, STUB, REMOTE = "upstream", "bare proxy", "Stoker, stub", "Stoker, openai_remote"
PEERS = (LITELLM, SMG, VLLM_ROUTER)
VARIANTS = (UPSTREAM, PROXY, STUB, REMOTE, *PEERS)
ANSWER_S = 30.0
RETENTION_S = 60
"""The time that finished responses are stored: short, or Redis would fill in a long run."""


@contextmanager
def start_variants(folder: Path, names: Sequence[str], log: Log) -> Iterator[list[BenchmarkVariant]]:
    """Start the named variants; they are stopped at the end of the block. Raises `BenchmarkError`."""
    with running(log) as processes:
        log("starting the upstream")
        setup = PeerSetup(processes, folder, start_upstream(processes, folder))
        variants = []
        for name in names:
            log(f"starting {name}")
            variants.append(_START[name](setup))
            _wait_for_answers(variants[-1])
        yield variants


def _start_direct(setup: PeerSetup) -> BenchmarkVariant:
    """The upstream itself, whose CPU time counts for this variant alone."""
    meter = CpuMeter({UPSTREAM: [pid(process) for process in setup.upstream.processes.values()]})
    return BenchmarkVariant(UPSTREAM, setup.upstream.ports[UPSTREAM_MODELS[0]], "none", meter, path=CHAT)


def _start_proxy(setup: PeerSetup) -> BenchmarkVariant:
    port, upstream = free_port(HOST, 0), setup.upstream.ports[UPSTREAM_MODELS[0]]
    arguments = (str(port), str(upstream), str(PROXY_THREADS), CLIENTS[0])
    argv = [sys.executable, "-m", "benchmarks.proxy", *arguments]
    plan = ProcessPlan(name=PROXY, argv=argv, cwd=ROOT, log=setup.folder / "proxy.log")
    process = start(setup.processes, plan)
    # the process that answers is a child that the listening one starts later
    wait(process, lambda: fetch(f"http://{HOST}:{port}/") is not None, "the proxy does not answer")
    return BenchmarkVariant(PROXY, port, "none", CpuMeter({PROXY: tree(pid(process))}), path=CHAT)


def _start_stub(setup: PeerSetup) -> BenchmarkVariant:
    return _start_platform(setup.processes, setup.folder / "stub", STUB, stub_models())


def _start_remote(setup: PeerSetup) -> BenchmarkVariant:
    models = {
        model: {
            "backend": "openai_remote",
            "enabled": True,
            "target_inflight": SLOTS,
            "openai_remote_url": f"{setup.upstream.url(model)}/v1",
        }
        for model in UPSTREAM_MODELS
    }
    fields = ',"allow_remote":true'
    return _start_platform(setup.processes, setup.folder / "remote", REMOTE, models, fields)


def _start_platform(
    processes: list[ManagedProcess], home: Path, name: str, models: Mapping[str, Any], fields: str = ""
) -> BenchmarkVariant:
    """A platform of its own, as `make up` runs it: with Flower, and with the shipped settings."""
    settings = {"responses": {"retention_s": RETENTION_S}, "models": models}
    platform = start_platform(processes, home, settings, flower=True)
    return BenchmarkVariant(
        name,
        platform.port,
        platform.keys.api_key,
        platform.cpu,
        path=CHAT,
        fields=fields,
        redis=platform.redis,
    )


def _wait_for_answers(variant: BenchmarkVariant) -> None:
    """Wait until the variant answers a request for each model, which may be some time after it has started.

    Raises `BenchmarkError`.
    """
    url = f"http://{HOST}:{variant.port}{variant.path}"
    for load in (ONE, replace(PACED, stream=False)):
        body = request_body(variant, load).encode()
        deadline = time.monotonic() + ANSWER_S
        while not fetch(url, variant.key, body):
            if time.monotonic() > deadline:
                raise BenchmarkError(f"{variant.name} does not answer a request for the model {load.model}")
            time.sleep(0.1)


_START: Mapping[str, Callable[[PeerSetup], BenchmarkVariant]] = {
    UPSTREAM: _start_direct,
    PROXY: _start_proxy,
    STUB: _start_stub,
    REMOTE: _start_remote,
    **START_PEER,
}
