"""Stores of files on the disk, in fsspec's memory, and in a bucket of S3."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from api.files.disk_objects import DiskObjects
from api.files.objects import FileObjects
from api.files.remote_objects import RemoteObjects
from api.files.store import FileStore
from config.settings import FileSettings
from tests.support.s3_server import BUCKET, environment, running_s3

SETTINGS = FileSettings(max_bytes_per_tenant=100, max_files_per_tenant=3, keep_free_mib=0)


class Clock:
    """Time as a number."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(scope="session")
def s3() -> Iterator[str]:
    """The address of a server of S3."""
    with running_s3() as url:
        yield url


MakeObjects = Callable[[], FileObjects]


@pytest.fixture(params=["disk", "memory", pytest.param("s3", marks=pytest.mark.s3)])
def make_objects(
    request: pytest.FixtureRequest, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> MakeObjects:
    """Makes the objects of one host; all hosts have the same bucket."""
    if request.param == "disk":
        return DiskObjects
    place = f"{secrets.token_hex(4)}/files"
    url = f"memory://{place}"
    if request.param == "s3":
        for name, value in environment(request.getfixturevalue("s3")).items():
            monkeypatch.setenv(name, value)
        url = f"s3://{BUCKET}/{place}"
    return lambda: RemoteObjects(url, clock)


@pytest.fixture
def any_store(tmp_path: Path, clock: Clock, make_objects: MakeObjects) -> FileStore:
    """A store of each kind."""
    return FileStore(tmp_path / "files", SETTINGS, clock, make_objects())
