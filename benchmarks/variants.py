"""Starts the measured variants: upstream, bare proxy, and the platform without and with Flower."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.cpu_time import CpuMeter, tree
from benchmarks.load_messages import PACE, TOKENS
from benchmarks.processes import HOST, fetch, is_listening, pid, running, start, start_platform, wait
from config.settings import ROOT, Settings
from stoker.managed_process import ManagedProcess, ProcessPlan
from stoker.ports import free_port

UPSTREAM, PROXY, STOKER, FLOWER = "upstream", "proxy", "stoker", "stoker + Flower"
SLOTS = 64
PARTS = ("api", "worker", "engine", "redis", "flower", "supervisor")
"""The parts of the platform. The reference has an api (the proxy) and an engine (the upstream)."""


@dataclass(frozen=True)
class BenchmarkVariant:
    """One server to send requests to: its port, the API key, and the processes whose CPU time counts."""

    name: str
    port: int
    key: str
    cpu: CpuMeter


@contextmanager
def start_variants(
    folder: Path, proxy_client: str, log: Callable[[str], None]
) -> Iterator[list[BenchmarkVariant]]:
    """Start all variants; their processes are stopped at the end of the block. Raises `BenchmarkError`."""
    with running(log) as processes:
        log("starting the upstream and the proxy")
        reference = _start_reference(processes, folder, proxy_client)
        log("starting the platform, without and with Flower")
        yield [
            *reference,
            _start_platform_variant(processes, folder, flower=False),
            _start_platform_variant(processes, folder, flower=True),
        ]


def _start_reference(processes: list[ManagedProcess], folder: Path, client: str) -> list[BenchmarkVariant]:
    upstream, upstream_port = _start_module(processes, folder, "upstream")
    threads = str(Settings().api.threads)
    proxy, proxy_port = _start_module(processes, folder, "proxy", str(upstream_port), threads, client)
    # the process that answers is a child that the listening one starts later
    wait(proxy, lambda: fetch(f"http://{HOST}:{proxy_port}/") is not None, "the proxy does not answer")
    engine = [pid(upstream)]
    return [
        BenchmarkVariant(UPSTREAM, upstream_port, "none", CpuMeter({"engine": engine})),
        BenchmarkVariant(PROXY, proxy_port, "none", CpuMeter({"api": tree(pid(proxy)), "engine": engine})),
    ]


def _start_module(
    processes: list[ManagedProcess], folder: Path, module: str, *arguments: str
) -> tuple[ManagedProcess, int]:
    """Start a module of this package that listens on the port in its first argument."""
    port = free_port(HOST, 0)
    argv = [sys.executable, "-m", f"benchmarks.{module}", str(port), *arguments]
    process = start(processes, ProcessPlan(name=module, argv=argv, cwd=ROOT, log=folder / f"{module}.log"))
    wait(process, lambda: is_listening(port), f"the {module} does not listen")
    return process, port


def configuration() -> dict[str, Any]:
    """The platform's settings: two stub models, and defaults otherwise."""
    model = {
        "backend": "stub",
        "enabled": True,
        "target_inflight": SLOTS,
        "stub_tokens": TOKENS,
        "stub_directives": False,
    }
    paced = {**model, "stub_tokens_per_s": PACE}
    # a short retention, or Redis would fill in a long run
    return {"responses": {"retention_s": 60}, "models": {"instant": model, "paced": paced}}


def _start_platform_variant(
    processes: list[ManagedProcess], folder: Path, *, flower: bool
) -> BenchmarkVariant:
    """Flower needs task events: both are on, or both are off."""
    home = folder / ("with-flower" if flower else "without-flower")
    started = start_platform(processes, home, configuration(), flower=flower)
    return BenchmarkVariant(FLOWER if flower else STOKER, started.port, started.keys.api_key, started.cpu)
