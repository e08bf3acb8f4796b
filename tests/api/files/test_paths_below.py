"""Paths in folders that others change: what vanishes is left out, what cannot be read is an error."""

from __future__ import annotations

import resource
from pathlib import Path

import pytest

from api.files.paths_below import paths_below


def found(folder: Path, pattern: str) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in paths_below(folder, pattern))


def test_each_part_of_a_pattern_is_matched_in_its_folder(tmp_path: Path) -> None:
    for name in ("one/jobs/a/in-0", "one/jobs/b/in-0", "one/file", "two/jobs/c/out", "two/.hidden"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    assert found(tmp_path, "*/jobs/*/in-*") == ["one/jobs/a/in-0", "one/jobs/b/in-0"]
    assert found(tmp_path, "*/*") == ["one/file", "one/jobs", "two/.hidden", "two/jobs"]
    assert found(tmp_path, "*/file/*") == []
    assert found(tmp_path / "missing", "*") == []


def test_a_folder_that_cannot_be_read_is_no_empty_folder(tmp_path: Path) -> None:
    """Else the contents of files would lose their records, and quotas would count nothing."""
    (tmp_path / "file").touch()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))  # less than what is open
    try:
        with pytest.raises(OSError, match="Too many open files"):
            list(paths_below(tmp_path, "*"))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
