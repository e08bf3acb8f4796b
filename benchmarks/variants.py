"""Starts the measured variants: upstream, bare proxy, and the platform without and with Flower."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from redis import Redis

from benchmarks.cpu_time import CpuMeter, tree
from benchmarks.load_messages import ONE, PACE, TOKENS, Workload
from benchmarks.processes import HOST, fetch, is_listening, pid, running, start, start_platform, wait
from config.ports import free_port
from config.settings import ROOT
from stoker.managed_process import ManagedProcess, ProcessPlan

UPSTREAM, PROXY, STOKER, FLOWER = "upstream", "proxy", "stoker", "stoker + Flower"
SLOTS = 64
PROXY_THREADS = 256
PARTS = ("api", "worker", "engine", "redis", "flower", "supervisor")
"""The parts of the platform. The reference has an api (the proxy) and an engine (the upstream)."""


RESPONSES, CHAT = "/v1/responses", "/v1/chat/completions"
REDIS_COMMANDS = "redis commands"


@dataclass(frozen=True)
class BenchmarkVariant:
    """One server to send requests to: its port, the API key, and the processes whose CPU time counts.

    Requests are sent to `path`; `fields` is JSON to add to each body (`,"name":value`). Its Redis server is
    `redis`. `loads` are the only workloads that it is measured with; None is all.
    """

    name: str
    port: int
    key: str
    cpu: CpuMeter
    path: str = RESPONSES
    fields: str = ""
    redis: Redis | None = None
    loads: tuple[Workload, ...] | None = None

    def read(self) -> dict[str, float]:
        """The CPU seconds by part and, under `REDIS_COMMANDS`, the commands that Redis has executed."""
        counts = self.cpu.read()
        if self.redis is not None:
            statistics = self.redis.info("commandstats")
            counts[REDIS_COMMANDS] = sum(command["calls"] for command in statistics.values())
        return counts


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
    arguments = (str(upstream_port), str(PROXY_THREADS), client)
    proxy, proxy_port = _start_module(processes, folder, "proxy", *arguments)
    # the process that answers is a child that the listening one starts later
    wait(proxy, lambda: fetch(f"http://{HOST}:{proxy_port}/") is not None, "the proxy does not answer")
    engine = [pid(upstream)]
    return [
        BenchmarkVariant(UPSTREAM, upstream_port, "none", CpuMeter({"engine": engine}), loads=(ONE,)),
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


def stub_models() -> dict[str, Any]:
    """Two stub models, as in the settings."""
    model = {
        "backend": "stub",
        "enabled": True,
        "target_inflight": SLOTS,
        "stub_tokens": TOKENS,
        "stub_directives": False,
    }
    return {"instant": model, "paced": {**model, "stub_tokens_per_s": PACE}}


def _start_platform_variant(
    processes: list[ManagedProcess], folder: Path, *, flower: bool
) -> BenchmarkVariant:
    """Flower needs task events: both are on, or both are off."""
    home = folder / ("with-flower" if flower else "without-flower")
    # a short retention, or Redis would fill in a long run
    settings = {"responses": {"retention_s": 60}, "models": stub_models()}
    started = start_platform(processes, home, settings, flower=flower)
    return BenchmarkVariant(FLOWER if flower else STOKER, started.port, started.keys.api_key, started.cpu)
