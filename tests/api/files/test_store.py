"""Files on disk: commit points, quotas, expiry; names of clients name nothing."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import textwrap
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

import api.files.disk_objects
from api.files.errors import FileQuotaExceeded
from api.files.objects import Use
from api.files.record import new_record
from api.files.store import FileStore
from api.http.errors import NotFound
from config.settings import ROOT
from store.errors import StorageFull
from tests.api.files.conftest import SETTINGS, Clock
from tests.support.waiting import scaled


@pytest.fixture
def store(tmp_path: Path, clock: Clock) -> FileStore:
    return FileStore(tmp_path / "files", SETTINGS, clock)


def names(store: FileStore, tenant: str = "one") -> set[str]:
    """The files in a tenant's folder that belong to stored files."""
    return {path.name for path in store.folder(tenant).iterdir()} - {"lock", "tenant"}


def test_a_file_is_read_again_by_its_tenant_only(store: FileStore) -> None:
    record = store.create("one", "a.jsonl", "batch", b"content", None)
    assert store.get("one", record.id) == record
    assert store.read("one", record.id) == b"content"
    assert store.all_of("two") == []
    with pytest.raises(NotFound):
        store.get("two", record.id)
    with pytest.raises(NotFound):
        store.delete("two", record.id)
    assert store.all_of("one") == [record]


@pytest.mark.parametrize(
    "id", ["", "..", "../tenant", "file-../../x", "tenant", "lock", "file-" + "A" * 32, "\0"]
)
def test_an_id_that_was_not_given_out_is_never_part_of_a_path(store: FileStore, id: str) -> None:
    store.create("one", "a", "batch", b"x", None)
    with pytest.raises(NotFound):
        store.get("one", id)
    with pytest.raises(NotFound):
        store.delete("one", id)


@pytest.mark.parametrize("name", ["../../x", "/etc/passwd", ".", "tenant", "lock", "x" * 255, "ä\u202e"])
def test_a_name_of_a_client_is_data_only(store: FileStore, name: str) -> None:
    record = store.create(name, name, "batch", b"x", None)
    assert store.get(name, record.id).filename == name
    assert names(store, name) == {record.id, f"{record.id}.json"}
    assert [path.parent for path in store.root.parent.glob("**/file-*")] == [store.folder(name)] * 2


def test_the_first_files_of_a_tenant_may_begin_at_once(tmp_path: Path) -> None:
    store = FileStore(tmp_path / "files", replace(SETTINGS, max_files_per_tenant=4))
    together = threading.Barrier(4)

    def begin(tenant: str) -> None:
        together.wait(scaled(30))
        new = store.begin(tenant, 1)
        new.close()

    with ThreadPoolExecutor(4) as threads:
        for number in range(20):
            list(threads.map(begin, [f"tenant {number}"] * 4))


def test_an_upload_beyond_a_quota_changes_nothing(store: FileStore) -> None:
    first = store.create("one", "a", "batch", b"x" * 60, None)
    with pytest.raises(FileQuotaExceeded, match="max_bytes_per_tenant"):
        store.create("one", "b", "batch", b"x" * 41, None)
    store.create("one", "b", "batch", b"x" * 20, None)
    store.create("one", "c", "batch", b"x" * 20, None)
    with pytest.raises(FileQuotaExceeded, match="max_files_per_tenant"):
        store.create("one", "d", "batch", b"", None)
    assert len(store.all_of("one")) == 3
    assert len(names(store)) == 6
    store.create("two", "d", "batch", b"x" * 100, None)  # another tenant has its own
    store.delete("one", first.id)
    store.create("one", "d", "batch", b"x" * 60, None)


def test_an_upload_that_leaves_too_little_of_the_disk_is_refused(store: FileStore, tmp_path: Path) -> None:
    tight = FileStore(tmp_path / "files", replace(SETTINGS, keep_free_mib=2**31 - 1))
    with pytest.raises(StorageFull, match="keep_free_mib"):
        tight.create("one", "a", "batch", b"x", None)
    assert not tight.has_room("one", 1)
    assert store.has_room("one", 1)


def test_a_file_is_gone_at_its_time_and_counts_no_more(store: FileStore, clock: Clock) -> None:
    record = store.create("one", "a", "batch", b"x" * 100, 3600)
    clock.now += 3599
    assert store.get("one", record.id).expires_at == 1_003_600
    clock.now += 1
    with pytest.raises(NotFound):
        store.read("one", record.id)
    assert store.all_of("one") == []
    store.create("one", "b", "batch", b"x" * 100, None)
    assert len(names(store)) == 2


def test_no_other_user_reads_the_files(store: FileStore) -> None:
    record = store.create("one", "a", "batch", b"x", None)
    for path in (store.root, store.folder("one")):
        assert path.stat().st_mode & 0o777 == 0o700
    assert (store.folder("one") / record.id).stat().st_mode & 0o777 == 0o600


CRASHES = {"fsync": range(1, 6), "replace": (1,)}


@pytest.mark.parametrize(("call", "number"), [(call, at) for call, all in CRASHES.items() for at in all])
def test_a_process_that_dies_in_an_upload_leaves_a_whole_file_or_none(
    tmp_path: Path, store: FileStore, call: str, number: int
) -> None:
    store.create("one", "first", "batch", b"x", None)
    program = f"""
        import os
        from pathlib import Path
        import api.files.store as module
        from config.settings import FileSettings
        left = {number}
        def dying(real):
            def call(*arguments):
                global left
                left -= 1
                if not left:
                    os._exit(9)
                return real(*arguments)
            return call
        if {call!r} == "fsync":
            os.fsync = dying(os.fsync)
        else:
            Path.replace = dying(Path.replace)
        store = module.FileStore(Path({str(tmp_path / "files")!r}), FileSettings(keep_free_mib=0))
        print(store.create("one", "second", "batch", b"content", None).id)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)], cwd=ROOT, capture_output=True, check=False
    )
    found = {record.filename: record for record in store.all_of("one")}
    if "second" in found:
        assert store.read("one", found["second"].id) == b"content"
    else:
        assert done.returncode == 9
    store.create("one", "third", "batch", b"x", None)  # removes the rest
    assert len(names(store)) == 2 * len(store.all_of("one"))


def test_the_rest_of_a_delete_that_was_interrupted_is_removed(
    store: FileStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = store.create("one", "a", "batch", b"x", None)

    def fail(_folder: Path) -> None:
        raise OSError(5, os.strerror(5))

    with monkeypatch.context() as patch:
        patch.setattr(api.files.disk_objects, "sync_folder", fail)
        with pytest.raises(OSError, match="Input/output"):
            store.delete("one", record.id)
    assert names(store) == {record.id}
    assert store.all_of("one") == []
    store.create("one", "b", "batch", b"x", None)
    assert record.id not in names(store)


def test_a_result_is_adopted_once(store: FileStore, tmp_path: Path, clock: Clock) -> None:
    source = tmp_path / "output"
    source.write_bytes(b"x" * 1000)
    record = new_record("out.jsonl", "batch_output", 1000, None, clock.now)
    for _ in range(2):
        store.adopt("one", source, record)
    source.unlink()
    assert store.all_of("one") == [record]  # beyond the quota
    assert len(store.read("one", record.id)) == 1000


def test_the_input_of_batches_counts_once_when_its_file_is_deleted(store: FileStore) -> None:
    record = store.create("one", "a", "batch", b"x" * 60, None)
    for name in ("batch_1", "batch_2"):
        store.save_to("one", record.id, store.new_folder("one", name) / "input.jsonl")
    assert store.use("one") == Use(1, 60)
    store.delete("one", record.id)
    assert store.use("one") == Use(0, 60)
    with pytest.raises(FileQuotaExceeded):
        store.create("one", "b", "batch", b"x" * 41, None)
    shutil.rmtree(store.folder("one") / "batch_1")
    assert store.use("one") == Use(0, 60)
    shutil.rmtree(store.folder("one") / "batch_2")
    assert store.use("one") == Use(0, 0)


def test_a_file_that_is_being_written_counts_in_the_quota(store: FileStore) -> None:
    new = store.begin("one", 60)
    assert store.use("one") == Use(1, 60)
    with pytest.raises(FileQuotaExceeded):
        store.begin("one", 41)
    new.write(b"x" * 60)
    new.write(b"x" * 40)  # reserves the rest
    with pytest.raises(FileQuotaExceeded):
        new.write(b"x")
    with pytest.raises(FileQuotaExceeded):
        store.create("one", "b", "batch", b"x", None)
    record = store.commit(new, "a", "batch", None)
    new.close()
    assert (record.size, store.use("one"), store.read("one", record.id)) == (100, Use(1, 100), b"x" * 100)


def test_a_file_of_fewer_bytes_than_reserved_gives_the_rest_back(store: FileStore) -> None:
    new = store.begin("one", 90)
    new.write(b"x")
    store.commit(new, "a", "batch", None)
    new.close()
    assert store.use("one") == Use(1, 1)


def test_a_file_that_is_given_up_leaves_nothing(store: FileStore) -> None:
    new = store.begin("one", 100)
    new.write(b"x" * 50)
    new.close()
    new.close()
    assert names(store) == set()
    assert store.use("one") == Use(0, 0)


def test_the_file_of_a_killed_writer_is_removed_and_that_of_a_living_one_stays(
    tmp_path: Path, store: FileStore
) -> None:
    program = f"""
        from pathlib import Path
        import os, signal
        from api.files.store import FileStore
        from config.settings import FileSettings
        store = FileStore(Path({str(tmp_path / "files")!r}), FileSettings(keep_free_mib=0))
        store.begin("one", 70).write(b"x")
        os.kill(os.getpid(), signal.SIGKILL)
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(program)], cwd=ROOT, check=False)
    assert store.use("one") == Use(1, 70)
    living = store.begin("two", 5)
    store.remove_rests()
    assert store.use("one") == Use(0, 0)
    assert store.use("two") == Use(1, 5)
    living.close()
    assert names(store) == names(store, "two") == set()
