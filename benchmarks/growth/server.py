"""A Redis server for the measurements, and what a block of calls costs it: CPU time and commands."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import redis

from benchmarks.processes import running, start, wait
from config.settings import RedisSettings, Settings
from stoker.managed_process import ProcessPlan
from stoker.valkey import find_server
from store.redis_connections import command_client

COMMAND_TIMEOUT_S = 60.0


@dataclass(frozen=True)
class Cost:
    """What some calls cost the server: CPU microseconds of its main thread, and Redis commands.

    A script counts as one command, and each command in it counts, too.
    """

    cpu_us: float
    commands: float


class MeasuredServer:
    """A server and a client of it."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.client: Any = redis.Redis.from_url(url, socket_timeout=COMMAND_TIMEOUT_S)

    def settings(self, prefix: str, **changes: Any) -> Settings:
        """Settings of a platform with its own keys on this server."""
        return replace(Settings(), redis=RedisSettings(self.url, prefix), **changes)

    def command_client(self, settings: Settings) -> redis.Redis:
        """A client as the platform's processes use it."""
        return command_client(settings)

    @contextmanager
    def measured(self) -> Iterator[list[Cost]]:
        """Measure a block: at its end, the cost is appended to the list."""
        costs: list[Cost] = []
        cpu_us, commands = self.cpu_us(), self._commands()
        yield costs
        after_us, after = self.cpu_us(), self._commands()
        costs.append(Cost(after_us - cpu_us, after - commands))

    def cpu_us(self) -> float:
        """The CPU time of the server's main thread since its start."""
        info = self.client.info("cpu")
        return float(info["used_cpu_sys_main_thread"] + info["used_cpu_user_main_thread"]) * 1e6

    def _commands(self) -> int:
        stats = self.client.info("commandstats")
        return sum(row["calls"] for name, row in stats.items() if not name.startswith("cmdstat_info"))


@contextmanager
def measured_server(folder: Path, log: Any) -> Iterator[MeasuredServer]:
    """Start a server as `stoker up` configures it, on a socket in `folder`; stop it at the end."""
    socket = folder / "redis.sock"
    found = find_server()
    argv = [str(found.program), "--port", "0", "--unixsocket", str(socket), "--dir", str(folder)]
    argv += ["--appendonly", "yes", "--appendfsync", "no", "--save", "", "--slowlog-log-slower-than", "-1"]
    argv += ["--hash-max-listpack-entries", "64"]
    argv += ["--auto-aof-rewrite-percentage", "0"]  # a fork would be counted as a part of some call
    with running(log) as processes:
        plan = ProcessPlan(
            "redis", argv=argv, environment=found.environment, cwd=folder, log=folder / "redis.log"
        )
        process = start(processes, plan)
        server = MeasuredServer(f"unix://{socket}")
        wait(process, lambda: _answers(server), "the server does not start")
        yield server


def _answers(server: MeasuredServer) -> bool:
    try:
        return bool(server.client.ping())
    except (redis.ConnectionError, redis.BusyLoadingError):
        return False
