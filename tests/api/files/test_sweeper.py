"""Files of tenants that are gone, and files that have expired."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path

import pytest

from api.access.registry import AccessRegistry
from api.access.tenant_changes import MIN_RESERVED_S
from api.batches.record import is_batch_id, new_batch_id
from api.files.job_folders import JobFolders
from api.files.store import FileStore
from api.files.sweeper import GRACE_S, INTERVAL_S, ORPHAN_S, FileSweeper
from config.settings import FileSettings, Settings, Tenant
from scheduler.batches import BatchRow, BatchStore
from scheduler.ledger import Ledger
from store.redis_connections import command_client
from tests.support.waiting import scaled

SETTINGS = FileSettings(keep_free_mib=0)


class Sweeps:
    """A store, and sweeps of it at times that a test sets."""

    def __init__(self, root: Path, batches: BatchStore, ledger: Ledger) -> None:
        self.now = time.time()
        self.store = FileStore(root, SETTINGS, lambda: self.now)
        self.jobs = JobFolders(self.store, ledger, lambda: self.now)
        self.batches = batches

    def sweep(self, *tenants: str, is_complete: bool = True) -> None:
        registry = AccessRegistry(Settings(tenants={name: Tenant(name) for name in tenants}))
        registry.is_complete = is_complete
        FileSweeper(self.store, registry, self.batches, self.jobs, is_batch_id, lambda: self.now).sweep()


@pytest.fixture
def sweeps(tmp_path: Path, shared_settings: Settings) -> Sweeps:
    client = command_client(shared_settings)
    batches = BatchStore(client, shared_settings.redis.prefix)
    return Sweeps(tmp_path / "files", batches, Ledger(client, shared_settings))


async def remove_at_start(sweeps: Sweeps) -> None:
    sweeper = FileSweeper(
        sweeps.store, AccessRegistry(Settings()), sweeps.batches, sweeps.jobs, is_batch_id, lambda: sweeps.now
    )
    running = asyncio.create_task(sweeper.run())
    async with asyncio.timeout(scaled(5)):
        while sweeps.store.use("one").files:
            await asyncio.sleep(0.01)
    running.cancel()


def test_the_rest_of_a_killed_upload_is_removed_when_a_process_starts(sweeps: Sweeps) -> None:
    upload = sweeps.store.begin("one", 1000)
    os.close(upload._handle)  # as the kernel does it when the process is killed
    assert sweeps.store.use("one").bytes == 1000
    asyncio.run(remove_at_start(sweeps))


def test_files_of_a_removed_tenant_are_gone_before_its_name_is_free(sweeps: Sweeps) -> None:
    assert GRACE_S + 2 * INTERVAL_S < MIN_RESERVED_S
    for name in ("one", "two"):
        sweeps.store.create(name, "a", "batch", b"x", None)
    sweeps.sweep("one")
    sweeps.now += GRACE_S - 1
    sweeps.sweep("one")
    assert len(sweeps.store.all_of("two")) == 1
    sweeps.now += 1
    sweeps.sweep("one")
    assert not sweeps.store.folder("two").exists()
    assert len(sweeps.store.all_of("one")) == 1


def test_a_tenant_that_returns_keeps_its_files(sweeps: Sweeps) -> None:
    sweeps.store.create("one", "a", "batch", b"x", None)
    sweeps.sweep()
    sweeps.now += GRACE_S
    sweeps.sweep("one")
    sweeps.sweep()  # the time begins again
    assert len(sweeps.store.all_of("one")) == 1


def test_files_stay_while_the_tenants_in_redis_are_not_known(sweeps: Sweeps) -> None:
    sweeps.store.create("one", "a", "batch", b"x", None)
    for _ in range(2):
        sweeps.sweep(is_complete=False)
        sweeps.now += GRACE_S
    assert len(sweeps.store.all_of("one")) == 1


def test_expired_files_are_removed_from_the_disk(sweeps: Sweeps) -> None:
    record = sweeps.store.create("one", "a", "batch", b"x", 3600)
    sweeps.now += 3600
    sweeps.sweep("one")
    assert not (sweeps.store.folder("one") / record.id).exists()


def test_batches_of_a_removed_tenant_are_gone_with_its_files(sweeps: Sweeps) -> None:
    id = new_batch_id("openai")
    sweeps.store.new_folder("one", id)
    sweeps.batches.create(BatchRow(id, "one", "openai", b"{}", b"{}", 0), most_active=1, most=1)
    sweeps.sweep()
    sweeps.now += GRACE_S
    sweeps.sweep()
    assert sweeps.batches.get(id) is None
    assert sweeps.batches.active() == []


def test_a_folder_of_a_batch_without_a_record_is_removed_later(sweeps: Sweeps) -> None:
    ids = [new_batch_id("openai") for _ in range(2)]
    folders = [sweeps.store.new_folder("one", id) for id in ids]
    sweeps.batches.create(BatchRow(ids[0], "one", "openai", b"{}", b"{}", 0), most_active=1, most=1)
    sweeps.sweep("one")
    assert [folder.exists() for folder in folders] == [True, True]
    sweeps.now += ORPHAN_S + 1
    sweeps.sweep("one")
    assert [folder.exists() for folder in folders] == [True, False]
