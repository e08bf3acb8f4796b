"""What every store of files has to do: on the disk, in fsspec's memory, and in a bucket of S3 (`-m s3`)."""

from __future__ import annotations

import importlib.util
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from api.access.registry import AccessRegistry
from api.batches.record import is_batch_id
from api.files import remote_objects
from api.files.disk_objects import DiskObjects
from api.files.errors import FileQuotaExceeded
from api.files.job_folders import JobFolders
from api.files.objects import Use
from api.files.record import new_record
from api.files.remote_objects import REST_AGE_S, RESTS_S, RemoteObjects
from api.files.store import FileStore, open_store
from api.files.sweeper import GRACE_S, FileSweeper
from api.http.errors import NotFound
from config.errors import ConfigError
from config.settings import FileSettings, Settings, Tenant
from scheduler.batches import BatchStore
from scheduler.ledger import Ledger
from store.errors import StorageUnavailable
from store.redis_connections import command_client
from tests.api.files.conftest import SETTINGS, Clock, MakeObjects


def test_a_file_is_stored_read_listed_and_deleted(any_store: FileStore, clock: Clock) -> None:
    first = any_store.create("one", "a.jsonl", "batch", b"content", None)
    clock.now += 1
    second = any_store.create("one", "ä\u202e", "user_data", b"x" * 20, 3600)
    assert any_store.all_of("one") == [first, second]
    assert any_store.get("one", first.id) == first
    assert any_store.read("one", first.id) == b"content"
    assert any_store.use("one") == Use(2, 27)
    for store_call in (any_store.get, any_store.read, any_store.delete):
        with pytest.raises(NotFound):
            store_call("two", first.id)
    any_store.delete("one", first.id)
    for store_call in (any_store.get, any_store.read, any_store.delete):
        with pytest.raises(NotFound):
            store_call("one", first.id)
    assert any_store.all_of("one") == [second]
    clock.now += 3600
    assert any_store.all_of("one") == []


def test_quotas_count_what_is_stored(any_store: FileStore, clock: Clock) -> None:
    any_store.create("one", "a", "batch", b"x" * 60, 3600)
    with pytest.raises(FileQuotaExceeded, match="max_bytes_per_tenant"):
        any_store.create("one", "b", "batch", b"x" * 41, None)
    for name in "bc":
        any_store.create("one", name, "batch", b"x", None)
    with pytest.raises(FileQuotaExceeded, match="max_files_per_tenant"):
        any_store.create("one", "d", "batch", b"x", None)
    assert any_store.use("one") == Use(3, 62)
    clock.now += 3600  # the first one makes room
    any_store.create("one", "d", "batch", b"x" * 90, None)
    assert any_store.use("one") == Use(3, 92)


def test_a_copy_of_a_content_survives_its_delete(any_store: FileStore, tmp_path: Path) -> None:
    record = any_store.create("one", "a", "batch", b"lines", None)
    any_store.save_to("one", record.id, tmp_path / "copy")
    any_store.delete("one", record.id)
    assert (tmp_path / "copy").read_bytes() == b"lines"
    with pytest.raises(NotFound):
        any_store.save_to("one", record.id, tmp_path / "other")


def test_a_result_is_adopted_once_in_every_store(any_store: FileStore, tmp_path: Path, clock: Clock) -> None:
    source = tmp_path / "output"
    source.write_bytes(b"x" * 1000)
    record = new_record("out.jsonl", "batch_output", 1000, None, clock.now)
    for _ in range(2):
        any_store.adopt("one", source, record)
    assert source.exists()
    source.unlink()
    assert any_store.all_of("one") == [record]  # beyond the quota
    assert any_store.read("one", record.id) == b"x" * 1000


def test_a_large_file_is_stored_in_parts(tmp_path: Path, make_objects: MakeObjects) -> None:
    store = FileStore(tmp_path / "files", FileSettings(keep_free_mib=0), objects=make_objects())
    content = bytes(range(256)) * 80_000
    record = store.create("one", "a", "batch", content, None)
    assert store.read("one", record.id) == content
    assert store.use("one") == Use(1, len(content))


def test_a_content_without_a_record_is_no_file(
    any_store: FileStore, tmp_path: Path, clock: Clock, make_objects: MakeObjects
) -> None:
    any_store.create("one", "a", "batch", b"x", None)
    source, folder = tmp_path / "source", any_store.folder("one")
    source.write_bytes(b"rest")
    record = new_record("rest", "batch", 4, None, clock.now)
    any_store.objects.prepare(folder, record.id, source)  # and the process dies
    if isinstance(any_store.objects, DiskObjects):
        source.rename(folder / record.id)
    assert len(any_store.all_of("one")) == 1
    assert any_store.use("one") == Use(1, 1)
    with pytest.raises(NotFound):
        any_store.read("one", record.id)
    clock.now = 4_000_000_000.0  # later than any real time of an object
    clock.now += REST_AGE_S + RESTS_S
    any_store.sweep(folder)
    with pytest.raises(FileNotFoundError):
        make_objects().open(folder, record.id)


def sweeper(store: FileStore, settings: Settings, clock: Clock, *tenants: str) -> FileSweeper:
    registry = AccessRegistry(Settings(tenants={name: Tenant(name) for name in tenants}))
    registry.is_complete = True
    client = command_client(settings)
    batches = BatchStore(client, settings.redis.prefix)
    jobs = JobFolders(store, Ledger(client, settings), clock)
    return FileSweeper(store, registry, batches, jobs, is_batch_id, clock)


@pytest.mark.parametrize("make_objects", ["memory", pytest.param("s3", marks=pytest.mark.s3)], indirect=True)
def test_hosts_with_one_bucket_have_the_same_files(
    tmp_path: Path, clock: Clock, make_objects: MakeObjects, shared_settings: Settings
) -> None:
    one, two = (FileStore(tmp_path / host, SETTINGS, clock, make_objects()) for host in ("one", "two"))
    record = one.create("acme", "a", "batch", b"content", None)
    assert two.read("acme", record.id) == b"content"
    assert two.all_of("acme") == [record]
    assert two.use("acme") == Use(1, 7)
    for known in (("acme",), ()):  # a host that never had a file of the tenant removes those of a former one
        sweeper(two, shared_settings, clock, *known).sweep()
        clock.now += GRACE_S
        assert one.all_of("acme") == [record]
    sweeper(two, shared_settings, clock).sweep()
    assert one.all_of("acme") == []
    assert list(make_objects().tenants()) == []


def test_a_bucket_that_fails_is_an_error_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from fsspec.implementations import memory  # type: ignore[import-untyped]

    store = FileStore(tmp_path, SETTINGS, objects=RemoteObjects("memory://failing/files"))
    record = store.create("one", "a", "batch", b"x", None)

    def fail(*_: Any, **__: Any) -> None:
        raise PermissionError("access denied")

    for call in ("pipe_file", "cat_file", "ls"):
        monkeypatch.setattr(memory.MemoryFileSystem, call, fail)
    for store_call in (
        lambda: store.create("one", "a", "batch", b"x", None),
        lambda: store.get("one", record.id),
        lambda: store.all_of("one"),
    ):
        with pytest.raises(StorageUnavailable, match="bucket"):
            store_call()
    assert not list(tmp_path.glob("*/*.upload"))


def test_a_platform_without_the_extra_names_the_command(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    configured = replace(settings, files=replace(settings.files, storage="s3://bucket/prefix"))
    with pytest.raises(ConfigError) as error:
        open_store(configured)
    assert remote_objects.INSTALL in str(error.value)


def test_files_may_be_in_a_folder_of_their_own(settings: Settings, tmp_path: Path) -> None:
    configured = replace(settings, files=FileSettings(storage=str(tmp_path / "else"), keep_free_mib=0))
    store = open_store(configured)
    record = store.create("one", "a", "batch", b"x", None)
    assert (tmp_path / "else" / store.folder("one").name / record.id).exists()
