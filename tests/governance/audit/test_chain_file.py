"""The files of the chain: their order, their ends, and a disk that takes no more."""

from __future__ import annotations

import errno
import logging
import os
import stat
from pathlib import Path

import pytest

from governance.audit import AuditLog, chain_file
from governance.audit.chain_file import ChainFile, NotWritable
from governance.audit.verification import read_files, verify
from tests.governance.audit.conftest import chain, event

NAMES = [f"m{number}" for number in range(30)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "audit"
    path.mkdir()
    return path


def test_the_chain_runs_on_over_files_and_stays_verifiable_without_the_older_ones(folder: Path) -> None:
    file, records = ChainFile(folder, max_bytes=2000), chain(*NAMES)
    for at in range(0, len(records), 3):
        file.append(records[at : at + 3])
    paths = file.paths()
    assert len(paths) > 3
    assert all(path.stat().st_size < 4000 for path in paths)
    assert [one.line for one in file.latest(1000)] == [one.line for one in records]
    assert verify(read_files(paths)).finding is None
    paths[0].rename(folder.parent / paths[0].name)
    verified = verify(read_files(file.paths()))
    assert verified.finding is None
    assert verified.last == records[-1]
    assert ChainFile(folder).end() == records[-1]


def test_a_file_that_is_missing_in_the_middle_is_named_by_its_first_record(folder: Path) -> None:
    file, records = ChainFile(folder, max_bytes=2000), chain(*NAMES)
    for record in records:
        file.append([record])
    removed, after = file.paths()[1:3]
    first, next_first = chain_file.first_number(removed), chain_file.first_number(after)
    removed.unlink()
    finding = verify(read_files(file.paths())).finding
    assert finding is not None
    assert (finding.number, finding.place) == (first, f"{after.name}, line 1")
    assert finding.problem == f"it is missing, and so are those to {next_first - 1}"  # type: ignore[operator]


def test_a_renamed_file_is_found(folder: Path) -> None:
    file = ChainFile(folder)
    file.append(chain("a", "b"))
    (path,) = file.paths()
    path.rename(folder / "audit-000000000007.jsonl")
    finding = verify(read_files(file.paths())).finding
    assert finding is not None
    assert finding.problem == "it has the number 1, but the name of its file has 7"


def test_records_after_a_number_are_cut_over_several_files(folder: Path) -> None:
    file, records = ChainFile(folder, max_bytes=2000), chain(*NAMES)
    for record in records:
        file.append([record])
    file.cut_after(7)
    assert [one.line for one in file.latest(1000)] == [one.line for one in records[:7]]
    file.append(records[7:])
    assert verify(read_files(file.paths())).last == records[-1]


def test_another_process_sees_what_was_appended(folder: Path) -> None:
    first, second, records = ChainFile(folder), ChainFile(folder), chain("a", "b", "c")
    for at, file in enumerate((first, second, first)):
        file.append([records[at]])
    assert first.end() == second.end() == records[-1]


def test_the_files_are_for_their_owner_only(audit: AuditLog) -> None:
    audit.record(event())
    for path in (audit.file.folder, *audit.file.folder.iterdir()):
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path


def test_a_write_that_fails_leaves_the_file_as_it_was(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, records = ChainFile(folder), chain("a", "b")
    file.append(records[:1])
    fill_disk(monkeypatch, after_bytes=30)
    with pytest.raises(NotWritable):
        file.append(records[1:])
    (path,) = file.paths()
    assert path.read_bytes() == records[0].line + b"\n"


def fill_disk(monkeypatch: pytest.MonkeyPatch, after_bytes: int) -> None:
    """The operating system takes so many bytes more, and refuses the rest."""
    write, left = os.write, [after_bytes]

    def write_some(handle: int, data: bytes) -> int:
        if left[0] <= 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        written = write(handle, data[: left[0]])
        left[0] -= written
        return written

    monkeypatch.setattr(chain_file.os, "write", write_some)


def test_a_full_disk_delays_the_file_only_and_is_logged_once(
    audit: AuditLog, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    audit.record(event("a"))
    caplog.set_level(logging.INFO, "governance")
    with monkeypatch.context() as full:
        fill_disk(full, after_bytes=100)
        for subject in ("b", "c"):
            audit.record(event(subject))
        assert audit.sync()
        (message,) = caplog.messages
        assert (
            "the audit file cannot be written (No space left on device); the chain goes on in Redis"
            in message
        )
        assert [record.subject for record in audit.records()] == ["a", "b", "c"]
        assert audit.store.waiting().events == ()
    assert audit.sync()
    assert caplog.messages[-1].startswith("the audit chain is complete again")
    assert [record.subject for record in audit.file.latest(10)] == ["a", "b", "c"]
    assert verify(read_files(audit.file.paths())).finding is None


def test_a_redis_that_was_lost_while_the_disk_is_full_gets_the_records_of_the_file(
    audit: AuditLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    audit.record(event("a"))
    fill_disk(monkeypatch, after_bytes=0)
    audit.store.clear()
    audit.record(event("b"))
    assert [record.subject for record in audit.records() if record.actor == "admin"] == ["a", "b"]
    assert audit.finding() is None


def test_a_folder_that_cannot_be_made_delays_the_file_only(settings, tmp_path: Path) -> None:
    from store.redis_connections import command_client

    (tmp_path / "data").write_text("a file where the folder should be")
    audit = AuditLog(command_client(settings), settings.redis.prefix, tmp_path / "data" / "audit")
    audit.record(event("a"))
    assert [record.subject for record in audit.records()] == ["a"]


def test_records_wait_while_the_files_cannot_be_read(
    audit: AuditLog, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A chain that was continued without a look at its file could begin a second time."""
    audit.record(event("a"))
    audit.store.add_pending(event("b"))

    def refuse(_: Path) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    audit.file._known = None
    with monkeypatch.context() as unreadable:
        unreadable.setattr(chain_file, "lines_back", refuse)
        assert not audit.sync()
    assert (
        "audit records are waiting because the files of the chain cannot be read (Permission denied)"
        in caplog.text
    )
    assert [record.subject for record in audit.records()] == ["a"]
    assert audit.sync()
    assert [record.subject for record in audit.records()] == ["a", "b"]
