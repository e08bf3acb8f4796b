"""Redis refuses commands for two seconds: engines stay, streams complete, and work goes on afterwards."""

from __future__ import annotations

import json
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
import redis

from tests.support.full_disk import refused_writes
from tests.support.platform import Platform, running_platform
from tests.support.waiting import scaled

pytestmark = [pytest.mark.journey, pytest.mark.hostile]

REFUSAL_S = 2.0


@pytest.fixture(scope="module")
def refused(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    """A platform whose Redis refuses commands for a while."""
    stub = {"backend": "stub", "enabled": True, "target_inflight": 4, "stub_tokens_per_s": 25}
    local = {"models": {"slow": {**stub, "stub_tokens": 125}, "stoker-demo": {"enabled": False}}}
    folder = tmp_path_factory.mktemp("refused")
    with running_platform(folder, local, "--port", "0", "--no-flower") as platform:
        platform.wait_state("slow", "loaded", 60)
        yield platform


class Stream(threading.Thread):
    """A thread that reads one streamed response; `has_output` is set by its first delta."""

    def __init__(self, platform: Platform) -> None:
        super().__init__(daemon=True)
        self.last = ""
        self.deltas = 0
        self.has_output = threading.Event()
        headers = {"Authorization": f"Bearer {platform.keys['api_key']}", "Content-Type": "application/json"}
        body = json.dumps({"model": "slow", "input": "go on", "stream": True}).encode()
        self._request = urllib.request.Request(platform.url + "/v1/responses", body, headers)
        self.start()

    def run(self) -> None:
        with urllib.request.urlopen(self._request, timeout=scaled(60)) as answer:
            for line in answer:
                if line.startswith(b"event: "):
                    self.last = line[7:].decode().strip()
                    self.deltas += self.last == "response.output_text.delta"
                    if self.deltas:
                        self.has_output.set()


def unblock(client: redis.Redis, _folder: Path) -> None:
    """End each blocked command with an error, as a server does that becomes a replica."""
    deadline = time.monotonic() + REFUSAL_S
    while time.monotonic() < deadline:
        for found in client.client_list():
            if "b" in found["flags"]:
                client.execute_command("CLIENT", "UNBLOCK", found["id"], "ERROR")
        time.sleep(0.05)


@contextmanager
def configured(client: redis.Redis, **values: str | int) -> Iterator[None]:
    names = {name.replace("_", "-"): value for name, value in values.items()}
    before = {name: client.config_get(name)[name] for name in names}
    for name, value in names.items():
        client.config_set(name, value)
    yield
    for name, value in before.items():
        client.config_set(name, value)


def without_replicas(client: redis.Redis, _folder: Path) -> None:
    with configured(client, min_replicas_to_write=1):
        time.sleep(REFUSAL_S)


def read_only(client: redis.Redis, _folder: Path) -> None:
    client.execute_command("REPLICAOF", "127.0.0.1", "1")
    time.sleep(REFUSAL_S)
    client.execute_command("REPLICAOF", "NO", "ONE")


def without_primary(client: redis.Redis, folder: Path) -> None:
    with configured(client, replica_serve_stale_data="no"):
        read_only(client, folder)


def out_of_memory(client: redis.Redis, _folder: Path) -> None:
    with configured(client, maxmemory=1):
        time.sleep(REFUSAL_S)


def full_disk(client: redis.Redis, folder: Path) -> None:
    with refused_writes(client, folder / "data" / "redis"):
        time.sleep(REFUSAL_S)


def busy(client: redis.Redis, _folder: Path) -> None:
    """Run a long script: the server refuses the commands of all others while it runs."""
    with configured(client, busy_reply_threshold=50):
        script = "local t = redis.call('TIME')[1] + 3; while redis.call('TIME')[1] + 0 < t do end"
        with suppress(redis.RedisError):
            client.eval(script, 0)


def wrong_password(client: redis.Redis, _folder: Path) -> None:
    """Close all connections, and let no new one in."""
    password = client.connection_pool.connection_kwargs["password"]
    client.config_set("requirepass", "another")
    client.execute_command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
    time.sleep(REFUSAL_S)
    client.config_set("requirepass", password)


@pytest.mark.parametrize(
    "refuse",
    [unblock, without_replicas, read_only, without_primary, out_of_memory, full_disk, busy, wrong_password],
)
def test_a_stream_completes_with_the_same_engine_while_redis_refuses(
    refused: Platform, refuse: Callable[[redis.Redis, Path], None]
) -> None:
    engine, worker = refused.engine_pid("slow"), refused.worker_pid("cpu0")
    client = refused.redis()
    stream = Stream(refused)
    assert stream.has_output.wait(scaled(10))
    refuse(client, refused.folder)
    stream.join(scaled(30))
    assert not stream.is_alive()
    assert stream.last == "response.completed"
    assert refused.engine_pids("slow") == [engine]
    assert refused.worker_pid("cpu0") == worker
    log = (refused.folder / "data" / "logs" / "worker-cpu0.log").read_text()
    assert "Unrecoverable" not in log
    status, answer = refused.respond("slow", "/stub tokens=2")
    assert (status, answer.get("status")) == (200, "completed")


def test_loads_and_unloads_reach_the_worker_after_refusals(refused: Platform) -> None:
    read_only(refused.redis(), refused.folder)
    assert refused.run_operation("unload", "slow")["runtime_state"] == "unloaded"
    assert refused.run_operation("load", "slow")["runtime_state"] == "loaded"


def test_a_refusal_is_logged_in_few_lines(refused: Platform) -> None:
    log = refused.folder / "data" / "logs" / "worker-cpu0.log"
    before = len(log.read_text().splitlines())
    read_only(refused.redis(), refused.folder)
    refused.respond("slow", "/stub tokens=2")
    lines = log.read_text().splitlines()[before:]
    assert len(lines) <= 12, "\n".join(lines)
    assert not any("Traceback" in line for line in lines), "\n".join(lines)
