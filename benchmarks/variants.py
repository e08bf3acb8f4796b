"""What is measured: the upstream alone, a bare proxy to it, and the platform without and with its monitor."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.load_messages import PACE, TOKENS
from benchmarks.platform import HOST, listens, pid, platform, running, start, wait
from benchmarks.processes import Cpu, tree
from config.settings import ROOT, Settings
from stoker.managed_process import Part, Plan
from stoker.ports import free_port

UPSTREAM, PROXY, STOKER, FLOWER = "upstream", "proxy", "stoker", "stoker + Flower"
SLOTS = 64
PARTS = ("api", "worker", "engine", "redis", "flower", "supervisor")
"""Of the platform. The reference has an api (the proxy) and an engine (the upstream)."""


@dataclass(frozen=True)
class Variant:
    """One way to an answer: where to ask, with which key, and whose CPU counts."""

    name: str
    port: int
    key: str
    cpu: Cpu


@contextmanager
def started(folder: Path, proxy_client: str, say: Callable[[str], None]) -> Iterator[list[Variant]]:
    """All variants, up and warm; none of their processes outlives the block. Raises `Broken`."""
    with running(say) as parts:
        say("starting the upstream and the proxy")
        reference = _reference(parts, folder, proxy_client)
        say("starting the platform, without and with Flower")
        yield [*reference, _platform(parts, folder, flower=False), _platform(parts, folder, flower=True)]


def _reference(parts: list[Part], folder: Path, client: str) -> list[Variant]:
    upstream, there = _python(parts, folder, "upstream")
    threads = str(Settings().api.threads)
    proxy, here = _python(parts, folder, "proxy", str(there), threads, client)
    engine = [pid(upstream)]
    return [
        Variant(UPSTREAM, there, "none", Cpu({"engine": engine})),
        Variant(PROXY, here, "none", Cpu({"api": tree(pid(proxy)), "engine": engine})),
    ]


def _python(parts: list[Part], folder: Path, module: str, *arguments: str) -> tuple[Part, int]:
    """Start a module of ours that listens on the port it is given."""
    port = free_port(HOST, 0)
    argv = [sys.executable, "-m", f"benchmarks.{module}", str(port), *arguments]
    part = start(parts, Plan(name=module, argv=argv, cwd=ROOT, log=folder / f"{module}.log"))
    wait(part, lambda: listens(port), f"the {module} does not listen")
    return part, port


def configuration() -> dict[str, Any]:
    """The platform's settings: two stub models, everything else as it is shipped."""
    model = {
        "backend": "stub",
        "enabled": True,
        "target_inflight": SLOTS,
        "stub_tokens": TOKENS,
        "stub_directives": False,
    }
    paced = {**model, "stub_tokens_per_s": PACE}
    # what was answered is forgotten soon, or a long run would measure a full Redis
    return {"responses": {"retention_s": 60}, "models": {"instant": model, "paced": paced}}


def _platform(parts: list[Part], folder: Path, *, flower: bool) -> Variant:
    """Task events are what Flower lives on: both are on, or both off."""
    home = folder / ("with-flower" if flower else "without-flower")
    up = platform(parts, home, configuration(), flower=flower)
    return Variant(FLOWER if flower else STOKER, up.port, up.keys.api_key, up.cpu)
