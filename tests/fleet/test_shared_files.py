"""The mark of the folder of files, by which a worker knows that it shares it with the API's processes."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import redis

from config.settings import Settings
from fleet.shared_files import MARK, OtherFolder, check_mark, mark_of, note_mark


def test_all_processes_read_the_mark_that_one_of_them_made(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as threads:
        marks = set(threads.map(lambda _: mark_of(tmp_path / "files"), range(32)))
    assert len(marks) == 1
    assert [path.name for path in (tmp_path / "files").iterdir()] == [MARK]


def test_a_worker_with_another_folder_is_refused(
    client: redis.Redis, settings: Settings, tmp_path: Path
) -> None:
    prefix = settings.redis.prefix
    check_mark(client, prefix, tmp_path / "worker")  # no API process has noted its own yet
    note_mark(client, prefix, tmp_path / "api")
    check_mark(client, prefix, tmp_path / "api")
    with pytest.raises(OtherFolder, match=r"docs/several-hosts\.md"):
        check_mark(client, prefix, tmp_path / "worker")
