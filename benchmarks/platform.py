"""The processes of a benchmark: started, waited for, and stopped on the way out."""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.generator_process import Broken
from benchmarks.processes import Cpu, tree_by_part
from config.keys import Keys, read_keys
from config.settings import ROOT
from stoker.managed_process import Part, Plan, last_lines
from stoker.run_file import read_run

HOST = "127.0.0.1"
START_S = 60.0
STOP_S = 40.0

COMMANDS = {
    "stoker api": "api",
    "stoker worker": "worker",
    "workers/engine_process/guard.py": "engine",
    "valkey-server": "redis",
    "redis-server": "redis",
    "celery": "flower",
    "stoker up": "supervisor",
}
"""The platform's parts by what stands in their command lines. What a part starts belongs to it."""


@contextmanager
def running(say: Callable[[str], None]) -> Iterator[list[Part]]:
    """A list to which `start` adds; none of the processes outlives the block."""
    for name in [name for name in os.environ if name.startswith("STOKER_") or name == "REDIS_URL"]:
        del os.environ[name]  # somebody's own platform is not what is measured
    parts: list[Part] = []
    try:
        yield parts
    finally:
        say("stopping everything")
        for part in parts:
            part.signal(signal.SIGTERM)
        for part in parts:
            _until(lambda part=part: part.end() is not None, STOP_S)  # type: ignore[misc]
            part.kill()


def start(parts: list[Part], plan: Plan) -> Part:
    """Start a part; returns at once."""
    part = Part(plan)
    parts.append(part)
    part.start()
    return part


def pid(part: Part) -> int:
    """The process of a part that was started."""
    assert part.pid is not None  # noqa: S101 - it was started
    return part.pid


def wait(part: Part, true: Callable[[], object], complaint: str, seconds: float = START_S) -> None:
    """Wait until it is so. Raises `Broken` with the end of the part's log."""
    ended: list[str] = []

    def over() -> object:
        end = part.end()
        if end is not None:
            ended.append(f" ({end})")
        return end is not None or true()

    if not _until(over, seconds) or ended:
        raise Broken("\n".join([f"{complaint}{''.join(ended)}", *last_lines(part.plan.log)]))


def _until(true: Callable[[], object], seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while not true():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def fetch(url: str, key: str = "") -> bytes | None:
    """GET: the body, empty where it is refused, None while nobody can answer."""
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {key}"})  # noqa: S310 - ours
    try:
        with urllib.request.urlopen(request, timeout=5) as answer:  # noqa: S310 - ours
            return bytes(answer.read())
    except urllib.error.HTTPError as error:
        return None if error.code >= 500 else b""
    except OSError:
        return None


def listens(port: int) -> bool:
    """Whether somebody does."""
    with socket.socket() as probe:
        return probe.connect_ex((HOST, port)) == 0


@dataclass(frozen=True)
class Platform:
    """A running `stoker up` whose models are loaded."""

    pid: int
    url: str
    keys: Keys = field(repr=False)

    @property
    def port(self) -> int:
        """Where its API listens."""
        return int(self.url.rpartition(":")[2])

    @property
    def cpu(self) -> Cpu:
        """The clocks of its parts."""
        return Cpu(tree_by_part(self.pid, COMMANDS))


def platform(
    parts: list[Part],
    home: Path,
    settings: Mapping[str, Any],
    *,
    flower: bool = False,
    load_s: float = START_S,
) -> Platform:
    """Run `stoker up` in a folder of its own, with these settings alone. Task events go to nobody but Flower.

    Raises `Broken` when it does not come up, or its enabled models are not loaded after `load_s`.
    """
    home.mkdir()
    told, local = home / "settings.json", home / "local.json"
    told.write_text(json.dumps({**settings, "worker": {"task_events": flower}}))
    local.write_text("{}")
    argv = [sys.executable, "-m", "stoker", "up", "--no-ask", "--port", "0"]
    environment = {
        "STOKER_DATA_DIR": str(home / "data"),
        "STOKER_SETTINGS": str(told),
        "STOKER_LOCAL": str(local),
        "CUDA_VISIBLE_DEVICES": "",  # one worker, wherever this runs
    }
    plan = Plan(
        name="stoker up",
        argv=argv if flower else [*argv, "--no-flower"],
        environment=environment,
        cwd=ROOT,
        log=home / "up.log",
        last_signal=signal.SIGTERM,
    )
    part = start(parts, plan)
    data = home / "data"
    wait(part, lambda: read_run(data), "the platform does not come up")
    run, keys = read_run(data), read_keys(data)
    assert keys is not None  # noqa: S101 - they are made before run.json
    wait(part, lambda: _loaded(run["url"], keys.admin_key), "the models do not load", load_s)
    if flower:
        wait(part, lambda: fetch(f"{run['flower']}/healthcheck") is not None, "Flower does not come up")
    return Platform(pid(part), run["url"], keys)


def _loaded(url: str, admin_key: str) -> bool:
    """Whether all models are up. Raises `Broken` when one has failed."""
    answer = fetch(f"{url}/v1/admin/models", admin_key)
    rows = json.loads(answer)["models"] if answer else []
    for row in rows:
        if row["runtime_state"] == "failed":
            raise Broken(f"the model {row['name']} does not load: {row['last_error']}")
    return bool(rows) and all(row["runtime_state"] == "loaded" for row in rows)
