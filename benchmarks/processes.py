"""Starts the processes of a benchmark and the platform, waits for them, and stops them at the end."""

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

from redis import Redis

from benchmarks.cpu_time import CpuMeter, listening_ports, tree_by_part
from benchmarks.generator_process import BenchmarkError
from config.generated_keys import GeneratedKeys, read_keys
from config.settings import ROOT
from stoker.data_folder import read_run
from stoker.managed_process import ManagedProcess, ProcessPlan, last_lines

HOST = "127.0.0.1"
START_S = 60.0
STOP_S = 40.0

COMMANDS = {
    "stoker api": "api",
    "stoker worker": "worker",
    "engines/engine_process/guard.py": "engine",
    "valkey-server": "redis",
    "redis-server": "redis",
    "stoker.flower": "flower",
    "stoker up": "supervisor",
}
"""Parts of the platform by a text in the command line. Child processes belong to their parent's part."""


@contextmanager
def running(log: Callable[[str], None]) -> Iterator[list[ManagedProcess]]:
    """Yields a list to which `start` adds processes; all of them are stopped at the end of the block."""
    for name in [name for name in os.environ if name.startswith("STOKER_") or name == "REDIS_URL"]:
        del os.environ[name]  # the settings of another platform must not apply
    processes: list[ManagedProcess] = []
    try:
        yield processes
    finally:
        log("stopping everything")
        for process in processes:
            process.signal(signal.SIGTERM)
        for process in processes:
            _until(lambda process=process: process.poll() is not None, STOP_S)  # type: ignore[misc]
            process.kill()


def start(processes: list[ManagedProcess], plan: ProcessPlan) -> ManagedProcess:
    """Start a process without waiting for it."""
    process = ManagedProcess(plan)
    processes.append(process)
    process.start()
    return process


def pid(process: ManagedProcess) -> int:
    """The id of a started process."""
    assert process.pid is not None  # noqa: S101 - it was started
    return process.pid


def wait(
    process: ManagedProcess, condition: Callable[[], object], failure: str, seconds: float = START_S
) -> None:
    """Wait until `condition` is true. Raises `BenchmarkError` with `failure` and the end of the log."""
    ended: list[str] = []

    def done() -> object:
        end = process.poll()
        if end is not None:
            ended.append(f" ({end})")
        return end is not None or condition()

    if not _until(done, seconds) or ended:
        raise BenchmarkError("\n".join([f"{failure}{''.join(ended)}", *last_lines(process.plan.log)]))


def _until(condition: Callable[[], object], seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def fetch(url: str, key: str = "", sent: bytes | None = None) -> bytes | None:
    """GET, or POST of the JSON `sent`: the answer, empty if it is refused, None if the server fails."""
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    request = urllib.request.Request(url, sent, headers)  # noqa: S310 - an address on loopback
    try:
        with urllib.request.urlopen(request, timeout=5) as answer:  # noqa: S310 - an address on loopback
            return bytes(answer.read())
    except urllib.error.HTTPError as error:
        return None if error.code >= 500 else b""
    except OSError:
        return None


def is_listening(port: int) -> bool:
    """Whether a process listens on this port of the loopback interface."""
    with socket.socket() as probe:
        return probe.connect_ex((HOST, port)) == 0


@dataclass(frozen=True)
class BenchmarkPlatform:
    """A running `stoker up` whose models are loaded."""

    pid: int
    url: str
    keys: GeneratedKeys = field(repr=False)

    @property
    def port(self) -> int:
        """The port of its API."""
        return int(self.url.rpartition(":")[2])

    @property
    def redis(self) -> Redis:
        """A client of its Redis server."""
        (server,) = self.cpu.parts["redis"]
        return Redis(host=HOST, port=listening_ports(server)[0], password=self.keys.redis_password)

    @property
    def cpu(self) -> CpuMeter:
        """The CPU time of its parts."""
        return CpuMeter(tree_by_part(self.pid, COMMANDS))


def start_platform(  # noqa: PLR0913 - what benchmarks choose
    processes: list[ManagedProcess],
    home: Path,
    settings: Mapping[str, Any],
    *,
    flower: bool = False,
    load_s: float = START_S,
    gpu: str = "",
) -> BenchmarkPlatform:
    """Run `stoker up` in a new folder `home` with these settings alone. Task events are on only with Flower.

    Raises `BenchmarkError` if it does not start, or its enabled models are not loaded within `load_s`
    seconds.
    """
    home.mkdir()
    settings_file, local_file = home / "settings.json", home / "local.json"
    settings_file.write_text(json.dumps({**settings, "worker": {"task_events": flower}}))
    local_file.write_text("{}")
    argv = [sys.executable, "-m", "stoker", "up", "--no-ask", "--port", "0"]
    environment = {
        "STOKER_DATA_DIR": str(home / "data"),
        "STOKER_SETTINGS": str(settings_file),
        "STOKER_LOCAL": str(local_file),
        "CUDA_VISIBLE_DEVICES": gpu,  # one worker on any machine
    }
    plan = ProcessPlan(
        name="stoker up",
        argv=argv if flower else [*argv, "--no-flower"],
        environment=environment,
        cwd=ROOT,
        log=home / "up.log",
        parent_death_signal=signal.SIGTERM,
    )
    process = start(processes, plan)
    data = home / "data"
    wait(process, lambda: read_run(data), "the platform does not start")
    run, keys = read_run(data), read_keys(data)
    assert keys is not None  # noqa: S101 - written before run.json
    wait(process, lambda: _loaded(run["url"], keys.admin_key), "the models do not load", load_s)
    if flower:
        wait(process, lambda: fetch(f"{run['flower']}/healthcheck") is not None, "Flower does not start")
    return BenchmarkPlatform(pid(process), run["url"], keys)


def _loaded(url: str, admin_key: str) -> bool:
    """Whether all models are loaded. Raises `BenchmarkError` if one has failed."""
    answer = fetch(f"{url}/v1/admin/models", admin_key)
    rows = json.loads(answer)["models"] if answer else []
    for row in rows:
        if row["runtime_state"] == "failed":
            raise BenchmarkError(f"the model {row['name']} does not load: {row['last_error']}")
    return bool(rows) and all(row["runtime_state"] == "loaded" for row in rows)
