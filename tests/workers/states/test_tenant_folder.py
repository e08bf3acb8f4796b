"""The folder of a tenant's saved states."""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from backends.base import GenerationError
from config.settings import StateSettings
from generation.generation import CacheOwner
from workers.states.state_actions import disk_error
from workers.states.tenant_folder import TEMPORARY, TenantFolder, folder_name

OWNER = CacheOwner("acme")


def folder_of(directory: Path, **limits: int) -> TenantFolder:
    return TenantFolder(StateSettings(str(directory), **limits), OWNER)


def save(folder: TenantFolder, name: str, content: bytes = b"state") -> None:
    with folder.new_file(name) as file:
        while content:
            content = content[os.write(file, content) :]


def load(folder: TenantFolder, name: str) -> bytes:
    with folder.file(name) as file:
        return os.read(file, 1 << 20)


def names(directory: Path) -> set[str]:
    return {file.name for file in (directory / "tenants" / folder_name(OWNER)).iterdir()} - {".lock"}


def test_a_tenant_reads_what_it_has_saved_and_no_other_tenants(tmp_path: Path) -> None:
    save(folder_of(tmp_path), "one", b"first")
    save(folder_of(tmp_path), "one", b"second")
    assert load(folder_of(tmp_path), "one") == b"second"
    for other in (
        CacheOwner("other"),
        CacheOwner("acme", None, "a name"),
        CacheOwner("default", None, "acme"),
    ):
        with pytest.raises(GenerationError, match="no saved state"):
            load(TenantFolder(StateSettings(str(tmp_path)), other), "one")


def test_a_save_that_fails_leaves_the_file_before(tmp_path: Path) -> None:
    folder = folder_of(tmp_path)
    save(folder, "one", b"before")

    def fail() -> None:
        with folder.new_file("one") as file:
            os.write(file, b"half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert load(folder, "one") == b"before"
    assert names(tmp_path) == {"one"}


def test_the_quota_counts_files_and_bytes_but_not_what_is_replaced(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, max_files_per_tenant=2, max_bytes_per_tenant=20)
    save(folder, "one", b"x" * 10)
    save(folder, "two", b"x" * 10)
    for name, content in (("three", b""), ("two", b"x" * 11)):
        with pytest.raises(GenerationError) as refused:
            save(folder, name, content)
        assert refused.value.code == "state_quota_exceeded"
    save(folder, "two", b"y" * 10)
    folder.delete("one")
    save(folder, "two", b"y" * 20)
    assert names(tmp_path) == {"two"}


def test_saves_at_once_do_not_exceed_the_quota(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, max_files_per_tenant=5)

    def try_to_save(number: int) -> bool:
        try:
            save(folder, f"file-{number}")
        except GenerationError:
            return False
        return True

    with ThreadPoolExecutor(16) as pool:
        assert sum(pool.map(try_to_save, range(64))) == 5
    assert len(names(tmp_path)) == 5


def test_the_parts_of_a_killed_worker_are_removed_after_an_hour(tmp_path: Path) -> None:
    folder = folder_of(tmp_path)
    save(folder, "one")
    place = tmp_path / "tenants" / folder_name(OWNER)
    for name, age_s in ((f"{TEMPORARY}old", 4000), (f"{TEMPORARY}new", 10)):
        (place / name).write_bytes(b"x" * 100)
        os.utime(place / name, (time.time() - age_s,) * 2)
    save(folder, "two")
    assert names(tmp_path) == {"one", "two", f"{TEMPORARY}new"}


def test_a_folder_that_others_may_enter_is_not_used(tmp_path: Path) -> None:
    folder = folder_of(tmp_path)
    save(folder, "one")
    (tmp_path / "tenants" / folder_name(OWNER)).chmod(0o755)
    for action in (lambda: save(folder, "two"), lambda: load(folder, "one"), lambda: folder.delete("one")):
        with pytest.raises(GenerationError, match="open to other users"):
            action()


def test_a_link_in_place_of_the_folder_is_not_followed(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir(mode=0o700)
    (tmp_path / "tenants").mkdir()
    (tmp_path / "tenants" / folder_name(OWNER)).symlink_to(elsewhere)
    with pytest.raises(OSError, match=r"Not a directory|symbolic links"):
        save(folder_of(tmp_path), "one")
    assert not list(elsewhere.iterdir())


def test_a_full_disk_is_one_sentence_and_leaves_no_part(small_disk: Path) -> None:
    folder = folder_of(small_disk)
    save(folder, "one")
    with pytest.raises(OSError, match="No space left") as full:
        save(folder, "two", b"x" * 100_000)
    error = disk_error(full.value)
    assert (error.code, str(error)) == ("state_disk_full", "the disk of state.directory is full")
    assert names(small_disk) == {"one"}
