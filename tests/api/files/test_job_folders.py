"""The folders of jobs: what a tenant's quota counts, and what goes when."""

from __future__ import annotations

import shutil
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from api.files.errors import FileQuotaExceeded
from api.files.job_folders import UNKNOWN_S, JobFolders
from api.files.store import FileStore
from config.settings import FileSettings, Settings
from generation.job_folder import folder_of, input_path, write_result
from scheduler.job import Status
from scheduler.ledger import Ledger

ID = "trs_" + "0" * 32


class Folders:
    """Job folders at times that a test sets, with the states of jobs that it sets."""

    def __init__(self, root: Path) -> None:
        self.now = time.time()
        self.states_by_id: dict[str, tuple[Status, int]] = {}
        settings = FileSettings(keep_free_mib=0, max_bytes_per_tenant=1000)
        self.store = FileStore(root, settings, lambda: self.now)
        self.folders = JobFolders(self.store, self, lambda: self.now)  # type: ignore[arg-type]

    def states(self, ids: list[str]) -> list[tuple[Status, int] | None]:
        """Fulfils `Ledger.states`."""
        return [self.states_by_id.get(id) for id in ids]

    def add(self, content: bytes = b"sound") -> None:
        new = self.store.begin("one", len(content))
        new.write(content)
        self.folders.add("one", ID, {"in-0": new})
        new.close()

    @property
    def names(self) -> list[str]:
        return sorted(path.name for path in self.store.root.glob("*/jobs/*/*"))


@pytest.fixture
def made(tmp_path: Path) -> Folders:
    return Folders(tmp_path / "files")


def test_an_upload_of_a_job_counts_for_the_quota_until_the_job_ends(made: Folders) -> None:
    made.add(b"x" * 900)
    assert made.store.use("one").bytes == 900
    with pytest.raises(FileQuotaExceeded):
        made.store.begin("one", 101)
    made.states_by_id[ID] = (Status.COMPLETED, 1)
    made.folders.tidy("one", ID)
    assert made.store.use("one").bytes == 0
    made.store.begin("one", 1000).close()


def test_an_engine_finds_the_upload_and_writes_results_beside_it(made: Folders) -> None:
    made.add()
    folder = folder_of("one", ID)
    assert input_path(made.store.root, folder, "in-0").read_bytes() == b"sound"
    write_result(made.store.root, folder, "image-0.png", b"png")
    assert made.names == ["image-0.png", "in-0"]
    with pytest.raises(ValueError, match="not the folder"):
        input_path(made.store.root, "../../etc", "passwd")
    with pytest.raises(ValueError, match="not the name"):
        write_result(made.store.root, folder, "../image", b"")


def test_results_stay_when_the_uploads_of_an_ended_job_are_removed(made: Folders) -> None:
    made.add()
    write_result(made.store.root, folder_of("one", ID), "image-0.png", b"png")
    made.states_by_id[ID] = (Status.RUNNING, 1)
    assert not made.folders.tidy("one", ID)
    assert made.names == ["image-0.png", "in-0"]
    made.states_by_id[ID] = (Status.COMPLETED, 1)
    assert made.folders.tidy("one", ID)
    assert made.names == ["image-0.png"]


def test_a_folder_is_removed_at_once_when_its_request_was_refused(made: Folders) -> None:
    made.add()
    made.folders.tidy("one", ID)
    assert not list(made.store.root.glob("*/jobs/*"))


def test_the_sweep_leaves_a_new_folder_whose_job_may_be_admitted_at_this_moment(made: Folders) -> None:
    made.add()
    made.folders.sweep(made.store.folder("one"))
    assert made.names == ["in-0"]
    made.now += UNKNOWN_S + 1
    made.folders.sweep(made.store.folder("one"))
    assert not list(made.store.root.glob("*/jobs/*"))


def test_the_sweep_asks_redis_for_the_states_of_jobs(tmp_path: Path, shared_settings: Settings) -> None:
    from store.redis_connections import command_client

    store = FileStore(tmp_path / "files", FileSettings(keep_free_mib=0))
    ledger = Ledger(command_client(shared_settings), shared_settings)
    later = JobFolders(store, ledger, lambda: time.time() + UNKNOWN_S + 1)
    new = store.begin("one", 1)
    later.add("one", ID, {"in-0": new})
    later.sweep(store.folder("one"))
    assert not list(store.root.glob("*/jobs/*"))


def test_uploads_are_accepted_and_swept_while_folders_of_other_jobs_vanish(tmp_path: Path) -> None:
    """Folders are removed without the lock of the tenant's folder, in another process or thread."""
    made = Folders(tmp_path / "files")
    made.add()
    jobs = made.store.folder("one") / "jobs"
    has_ended = threading.Event()

    def make_and_remove(name: str) -> None:
        while not has_ended.is_set():
            (jobs / name).mkdir(exist_ok=True)
            (jobs / name / "in-0").touch()
            shutil.rmtree(jobs / name, ignore_errors=True)

    with ThreadPoolExecutor(2) as threads:
        others = [threads.submit(make_and_remove, f"img_{number:032x}") for number in range(1, 3)]
        try:
            for _ in range(400):
                assert made.store.use("one").bytes <= 900
                made.folders.sweep(made.store.folder("one"))
                for other in range(1, 3):
                    made.folders.clear("one", f"img_{other:032x}")
        finally:
            has_ended.set()
    assert [other.exception() for other in others] == [None, None]
