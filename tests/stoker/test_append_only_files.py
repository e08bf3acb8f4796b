"""The embedded Redis starts after a power loss: what cannot be read is cut off, kept and reported."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from config.ports import free_port
from stoker.append_only_files import FOLDER, AppendOnlyFiles, readable_bytes
from stoker.supervisor import ProcessDied, Supervisor
from stoker.valkey import HOST, find_server, server_plan
from tests.support.waiting import scaled

pytestmark = pytest.mark.slow

PASSWORD = "correct-horse"
KEYS = 100


def folder(data: Path) -> Path:
    return data / "redis" / FOLDER


def increment(data: Path) -> Path:
    return sorted(folder(data).glob("*.incr.aof"))[-1]


def base(data: Path) -> Path:
    return next(folder(data).glob("*.base.rdb"))


def manifest(data: Path) -> Path:
    return folder(data) / "appendonly.aof.manifest"


@contextmanager
def started(supervisor: Supervisor, data: Path) -> Iterator[redis.Redis]:
    """Start the server as `stoker up` does, with its data in `data`, and stop it."""
    server = find_server()
    lock = os.open(data, os.O_RDONLY)
    for change in AppendOnlyFiles(data / "redis", server.program).repair_manifest():
        supervisor._report(change)
    port = free_port(HOST, 0)
    supervisor.starting = True
    process = supervisor.start(server_plan(server, data, port, PASSWORD, lock))
    client = redis.Redis(HOST, port, password=PASSWORD, retry=Retry(NoBackoff(), 0))

    def answers() -> bool:
        try:
            return bool(client.ping())
        except redis.RedisError:
            return False

    try:
        assert supervisor.wait_until(answers, scaled(20))
        yield client
    finally:
        process.signal(signal.SIGTERM)
        supervisor.starting = False
        supervisor.wait_until(lambda: process.pid is None, scaled(10))
        supervisor.processes.remove(process)
        os.close(lock)


@pytest.fixture
def data(supervisor: Supervisor, tmp_path: Path, reports: list[str]) -> Path:
    """A data folder with a base that holds one key, and an increment with 100 keys and a transaction."""
    with started(supervisor, tmp_path) as client:
        client.set("base", "1")
        client.bgrewriteaof()
        while client.info("persistence")["aof_rewrite_in_progress"]:
            pass
        for number in range(KEYS):
            client.set(f"k{number}", "v" * number)
        client.pipeline().set("a", "1").set("b", "2").execute()
    reports.clear()
    return tmp_path


def zeros_at_the_end(data: Path) -> None:
    os.truncate(increment(data), increment(data).stat().st_size + 4096)


def random_bytes_at_the_end(data: Path) -> None:
    with increment(data).open("ab") as file:
        file.write(b"*3\r\n$3\r\nSET\r\n$-5\r\n\xff\x00" * 7)


def half_a_record(data: Path) -> None:
    with increment(data).open("ab") as file:
        file.write(b"*3\r\n$3\r\nSET\r\n$4\r\nla")


def half_a_transaction(data: Path) -> None:
    with increment(data).open("ab") as file:
        file.write(b"*1\r\n$5\r\nMULTI\r\n*3\r\n$3\r\nSET\r\n$4\r\nlate\r\n$1\r\n1\r\n")


def zeros_before_the_end(data: Path) -> None:
    content = increment(data).read_bytes()
    with increment(data).open("ab") as file:
        file.write(b"\x00" * 512 + content[-100:])


@pytest.mark.parametrize(
    "damage",
    [zeros_at_the_end, random_bytes_at_the_end, half_a_record, half_a_transaction, zeros_before_the_end],
)
def test_a_damaged_end_is_cut_off_and_a_copy_is_kept(
    supervisor: Supervisor, data: Path, reports: list[str], damage: Callable[[Path], None]
) -> None:
    whole = increment(data).read_bytes()
    damage(data)
    damaged = increment(data).read_bytes()
    with started(supervisor, data) as client:
        assert client.get("base") == b"1"
        assert client.get(f"k{KEYS - 1}") == b"v" * (KEYS - 1)
        assert client.get("b") == b"2"
        assert client.get("late") is None
    (said,) = [report for report in reports if "could not be read" in report]
    assert said.startswith(f"the last {len(damaged) - len(whole):,} bytes of Redis' data could not be read")
    (kept,) = (data / "redis").glob("damaged-*")
    assert said.endswith(f"a copy of the damaged files is in {kept}")
    assert (kept / increment(data).name).read_bytes() == damaged


def test_a_half_written_last_record_costs_only_that_record(
    supervisor: Supervisor, data: Path, reports: list[str]
) -> None:
    os.truncate(increment(data), increment(data).stat().st_size - 5)  # of the transaction's EXEC
    with started(supervisor, data) as client:
        assert client.get(f"k{KEYS - 1}") == b"v" * (KEYS - 1)
        assert client.get("a") is None
    assert any("were cut off" in report for report in reports)


@pytest.mark.parametrize("content", [None, b"", b"\x00" * 88, b"file nothing\n"])
def test_a_lost_manifest_is_made_anew(
    supervisor: Supervisor, data: Path, reports: list[str], content: bytes | None
) -> None:
    manifest(data).unlink()
    if content is not None:
        manifest(data).write_bytes(content)
    with started(supervisor, data) as client:
        assert client.get("base") == b"1"
        assert client.get("b") == b"2"
    assert len([report for report in reports if "was made anew" in report]) == 1


def test_an_older_increment_is_not_read_again_without_the_manifest(
    supervisor: Supervisor, data: Path
) -> None:
    older = folder(data) / "appendonly.aof.1.incr.aof"
    older.write_bytes(b"*3\r\n$3\r\nSET\r\n$4\r\nbase\r\n$3\r\nold\r\n")
    os.utime(older, (1, 1))
    manifest(data).unlink()
    with started(supervisor, data) as client:
        assert client.get("base") == b"1"
        assert client.get("b") == b"2"


def remove_base(data: Path) -> None:
    base(data).unlink()


def empty_base(data: Path) -> None:
    base(data).write_bytes(b"")


def zero_base(data: Path) -> None:
    base(data).write_bytes(b"\x00" * base(data).stat().st_size)


def half_a_base(data: Path) -> None:
    os.truncate(base(data), base(data).stat().st_size // 2)


@pytest.mark.parametrize("damage", [remove_base, empty_base, zero_base, half_a_base])
def test_the_server_starts_without_a_base_that_cannot_be_read(
    supervisor: Supervisor, data: Path, reports: list[str], damage: Callable[[Path], None]
) -> None:
    damage(data)
    with started(supervisor, data) as client:
        assert client.get("base") is None
        assert client.get("b") == b"2"
        client.set("more", "1")
    assert len([report for report in reports if "starts without" in report]) == 1
    reports.clear()
    with started(supervisor, data) as client:
        assert client.get("more") == b"1"
    assert not any("Redis' data" in report for report in reports)


def test_the_server_starts_without_an_increment_that_is_lost(
    supervisor: Supervisor, data: Path, reports: list[str]
) -> None:
    increment(data).unlink()
    with started(supervisor, data) as client:
        assert client.get("base") == b"1"
        assert client.get("b") is None
        client.set("more", "1")
    assert any("starts without" in report for report in reports)
    with started(supervisor, data) as client:
        assert client.get("more") == b"1"


def test_sound_files_are_not_changed(supervisor: Supervisor, data: Path, reports: list[str]) -> None:
    before = {path.name: path.read_bytes() for path in folder(data).iterdir()}
    assert AppendOnlyFiles(data / "redis", find_server().program).repair() == []
    assert {path.name: path.read_bytes() for path in folder(data).iterdir()} == before
    assert readable_bytes(increment(data)) == increment(data).stat().st_size
    with started(supervisor, data) as client:
        assert client.get("b") == b"2"
    assert not any("Redis' data" in report for report in reports)


def test_a_server_that_exits_for_another_reason_is_not_started_again(
    supervisor: Supervisor, data: Path
) -> None:
    with increment(data).open("ab") as file:
        file.write(b"*1\r\n$7\r\nUNKNOWN\r\n")  # whole, and yet the server refuses it
    with pytest.raises(ProcessDied), started(supervisor, data):
        pass
