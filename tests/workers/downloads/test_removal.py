"""Removals delete what the platform has downloaded and nothing uses, and nothing else."""

from __future__ import annotations

import fcntl
import os
import random
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from config.hub_artifact import HubArtifact
from fleet.hub_cache import cache_folder, cached_path
from tests.support.hub_server import HubServer, Repository, downloaded, serving_hub
from workers.downloads.old_parts import KEPT_S, remove_old_parts
from workers.downloads.records import DownloadRecords
from workers.downloads.removal import IN_USE, NOT_OURS, Deleted, delete_artifacts

COMMIT = "c" * 40
DATA = {name: random.Random(name).randbytes(5_000) for name in ("a.gguf", "b.gguf", "shared.gguf")}
PARTS = {f"big-0000{number}-of-00002.gguf": random.Random(number).randbytes(3_000) for number in (1, 2)}


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HubServer]:
    repository = Repository({**DATA, **PARTS, "config.json": b"{}"})
    with serving_hub({"acme/many": repository}, tmp_path / "hf", monkeypatch) as server:
        yield server


pytestmark = pytest.mark.usefixtures("hub")


def artifact(file: str | None, commit: str = COMMIT) -> HubArtifact:
    return HubArtifact("acme/many", commit, file)


def delete(*files: str | None, used: tuple[HubArtifact, ...] = ()) -> Deleted:
    records = DownloadRecords(cache_folder().parent / "downloads")
    return delete_artifacts([artifact(file) for file in files], lambda: used, records)


def content() -> set[str]:
    """The names of all links and files in the cache."""
    return {path.name for path in cache_folder().rglob("*") if path.is_file() or path.is_symlink()}


def test_the_files_of_a_model_are_deleted_with_their_folders_and_records() -> None:
    downloaded(artifact("a.gguf"))
    downloaded(artifact("big-00001-of-00002.gguf"))
    assert delete("a.gguf") == Deleted(1, 5_000)
    assert cached_path(artifact("a.gguf")) is None
    assert cached_path(artifact("big-00001-of-00002.gguf")) is not None
    assert delete("big-00001-of-00002.gguf") == Deleted(2, 6_000)
    assert content() == set()
    assert not (cache_folder() / "models--acme--many").exists()
    records = cache_folder().parent / "downloads" / "models--acme--many"
    assert [path.name for path in records.iterdir()] == ["lock"]
    assert delete("a.gguf") == Deleted()


def test_a_file_that_another_model_uses_stays_until_that_is_removed() -> None:
    downloaded(artifact("a.gguf"))
    downloaded(artifact("shared.gguf"))
    used = (artifact("b.gguf"), artifact("shared.gguf"))
    assert delete("a.gguf", "shared.gguf", used=used) == Deleted(1, 5_000, IN_USE)
    assert cached_path(artifact("shared.gguf")) is not None
    assert delete("shared.gguf") == Deleted(1, 5_000)


def test_a_model_of_a_whole_repository_or_of_a_branch_uses_its_files() -> None:
    downloaded(artifact("a.gguf"))
    folder = downloaded(artifact("b.gguf")).parent
    references = cache_folder() / "models--acme--many" / "refs"
    references.mkdir(exist_ok=True)
    (references / "main").write_text(COMMIT)
    assert delete("a.gguf", used=(artifact(None),)).files == 0
    assert delete("a.gguf", used=(HubArtifact("acme/many", file="a.gguf"),)).files == 0
    assert (folder / "a.gguf").exists()
    assert delete("a.gguf", used=(HubArtifact("acme/other", COMMIT, "a.gguf"),)).files == 1


def test_a_file_that_was_there_before_is_never_deleted() -> None:
    path = downloaded(artifact("a.gguf"))
    records = DownloadRecords(cache_folder().parent / "downloads")
    folder = cache_folder() / "models--acme--many"
    records.drop(folder, path.resolve().name)  # another program has put it there
    downloaded(artifact("a.gguf"))
    assert delete("a.gguf") == Deleted(0, 0, NOT_OURS)
    assert path.read_bytes() == DATA["a.gguf"]


def test_a_file_that_another_snapshot_links_stays() -> None:
    path = downloaded(artifact("a.gguf"))
    other = path.parent.parent / ("d" * 40)
    other.mkdir()
    (other / "a.gguf").symlink_to(Path("../../blobs") / path.resolve().name)
    assert delete("a.gguf") == Deleted(0, 0, IN_USE)
    assert (other / "a.gguf").read_bytes() == DATA["a.gguf"]


def test_a_file_that_was_deleted_before_it_was_linked_is_downloaded_again(hub: HubServer) -> None:
    blob = downloaded(artifact("a.gguf")).resolve()
    blob.unlink()
    hub.sent.clear()
    assert downloaded(artifact("a.gguf")).read_bytes() == DATA["a.gguf"]
    assert [file for file, _ in hub.sent] == ["a.gguf"]


def test_a_part_that_was_not_continued_for_a_week_is_deleted() -> None:
    blob = downloaded(artifact("a.gguf")).resolve()
    records = cache_folder().parent / "downloads"
    part = blob.with_name(f"{blob.name}.part")
    blob.rename(part)  # as a download that was given up
    old = time.time() - KEPT_S - 60
    os.utime(records / "models--acme--many" / blob.name, (old, old))
    remove_old_parts(records)
    assert part.exists(), "it was written lately"
    os.utime(part, (old, old))
    descriptor = os.open(f"{part}.lock", os.O_RDWR | os.O_CREAT)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    remove_old_parts(records)
    assert part.exists(), "a download holds it"
    os.close(descriptor)
    remove_old_parts(records)
    assert not part.exists()
    assert not [*records.rglob(blob.name)]
