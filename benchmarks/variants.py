"""What is measured: the upstream alone, a bare proxy to it, and the platform without and with its monitor."""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.generator import Broken
from benchmarks.job import PACE, TOKENS
from benchmarks.processes import Cpu, command_of, tree
from config.keys import read_keys
from config.settings import ROOT, Settings
from stoker.part import Part, Plan, last_lines
from stoker.ports import free_port
from stoker.running import read_run

HOST = "127.0.0.1"
START_S = 60.0
STOP_S = 40.0
UPSTREAM, PROXY, STOKER, FLOWER = "upstream", "proxy", "stoker", "stoker + Flower"
SLOTS = 64
PARTS = ("api", "worker", "engine", "redis", "flower", "supervisor")
"""Of the platform. The reference has an api (the proxy) and an engine (the upstream)."""

COMMANDS = {
    "stoker api": "api",
    "stoker worker": "worker",
    "stub_engine": "engine",
    "valkey-server": "redis",
    "redis-server": "redis",
    "celery": "flower",
    "stoker up": "supervisor",
}


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
    for name in [name for name in os.environ if name.startswith("STOKER_") or name == "REDIS_URL"]:
        del os.environ[name]  # somebody's own platform is not what is measured
    parts: list[Part] = []
    try:
        say("starting the upstream and the proxy")
        reference = _reference(parts, folder, proxy_client)
        say("starting the platform, without and with Flower")
        yield [*reference, _platform(parts, folder, flower=False), _platform(parts, folder, flower=True)]
    finally:
        say("stopping everything")
        for part in parts:
            part.signal(signal.SIGTERM)
        for part in parts:
            _until(lambda part=part: part.end() is not None, STOP_S)  # type: ignore[misc]
            part.kill()


def _reference(parts: list[Part], folder: Path, client: str) -> list[Variant]:
    upstream, there = _python(parts, folder, "upstream")
    threads = str(Settings().api.threads)
    proxy, here = _python(parts, folder, "proxy", str(there), threads, client)
    engine = [_pid(upstream)]
    return [
        Variant(UPSTREAM, there, "none", Cpu({"engine": engine})),
        Variant(PROXY, here, "none", Cpu({"api": tree(_pid(proxy)), "engine": engine})),
    ]


def _python(parts: list[Part], folder: Path, module: str, *arguments: str) -> tuple[Part, int]:
    """Start a module of ours that listens on the port it is given."""
    port = free_port(HOST, 0)
    argv = [sys.executable, "-m", f"benchmarks.{module}", str(port), *arguments]
    part = Part(Plan(name=module, argv=argv, cwd=ROOT, log=folder / f"{module}.log"))
    parts.append(part)
    part.start()
    _wait(part, lambda: _listens(port), f"the {module} does not listen")
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
    """`stoker up`. Task events are what Flower lives on: both are on, or both off."""
    home = folder / ("with-flower" if flower else "without-flower")
    home.mkdir()
    settings, local = home / "settings.json", home / "local.json"
    settings.write_text(json.dumps({**configuration(), "worker": {"task_events": flower}}))
    local.write_text("{}")
    argv = [sys.executable, "-m", "stoker", "up", "--no-ask", "--port", "0"]
    environment = {
        "STOKER_DATA_DIR": str(home / "data"),
        "STOKER_SETTINGS": str(settings),
        "STOKER_LOCAL": str(local),
        "CUDA_VISIBLE_DEVICES": "",  # one worker, wherever this runs
    }
    part = Part(
        Plan(
            name="stoker up",
            argv=argv if flower else [*argv, "--no-flower"],
            environment=environment,
            cwd=ROOT,
            log=home / "up.log",
            last_signal=signal.SIGTERM,
        )
    )
    parts.append(part)
    part.start()
    data = home / "data"
    _wait(part, lambda: read_run(data), "the platform does not come up")
    run, keys = read_run(data), read_keys(data)
    assert keys is not None  # noqa: S101 - they are made before run.json
    _wait(part, lambda: _loaded(run["url"], keys.admin_key), "the models do not load")
    if flower:
        _wait(part, lambda: _fetch(f"{run['flower']}/healthcheck") is not None, "Flower does not come up")
    name = FLOWER if flower else STOKER
    return Variant(name, int(run["url"].rpartition(":")[2]), keys.api_key, Cpu(_parts_of(_pid(part))))


def _parts_of(root: int) -> dict[str, list[int]]:
    """The platform's processes by part."""
    found: dict[str, list[int]] = {}
    for pid in tree(root):
        command = command_of(pid)
        part = next((part for mark, part in COMMANDS.items() if mark in command), None)
        if part is not None:
            found.setdefault(part, []).append(pid)
    return found


def _loaded(url: str, admin_key: str) -> bool:
    """Whether all models are up."""
    answer = _fetch(f"{url}/v1/admin/models", admin_key)
    return answer is not None and all(
        row["runtime_state"] == "loaded" for row in json.loads(answer)["models"]
    )


def _fetch(url: str, key: str = "") -> bytes | None:
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {key}"})  # noqa: S310 - ours
    try:
        with urllib.request.urlopen(request, timeout=5) as answer:  # noqa: S310 - ours
            return bytes(answer.read())
    except urllib.error.HTTPError as error:
        return None if error.code >= 500 else b""
    except OSError:
        return None


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex((HOST, port)) == 0


def _pid(part: Part) -> int:
    assert part.pid is not None  # noqa: S101 - it was started
    return part.pid


def _wait(part: Part, true: Callable[[], object], complaint: str) -> None:
    """Wait until it is so. Raises `Broken` with the end of the part's log."""
    ended: list[str] = []

    def over() -> object:
        end = part.end()
        if end is not None:
            ended.append(f" ({end})")
        return end is not None or true()

    if not _until(over, START_S) or ended:
        raise Broken("\n".join([f"{complaint}{''.join(ended)}", *last_lines(part.plan.log)]))


def _until(true: Callable[[], object], seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while not true():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True
