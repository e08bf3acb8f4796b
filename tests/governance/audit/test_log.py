"""The audit log records in a chain, in a file and in Redis."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from config.settings import Settings
from governance.audit import AuditEvent, AuditLog, chain_file, log
from governance.audit.record import GENESIS
from governance.audit.verification import read_files, verify
from tests.support.audit import audit_of


@pytest.fixture
def audit(settings: Settings) -> AuditLog:
    return audit_of(settings)


def event(action: str = "load", subject: str = "alpha") -> AuditEvent:
    return AuditEvent("admin", "admin key", action, subject, "done", {"operation": "load_1"})


def test_each_record_has_the_digest_of_the_one_before_it(audit: AuditLog) -> None:
    for action in ("load", "unload"):
        audit.record(event(action))
    first, second = audit.records()
    assert (first.number, first.previous) == (1, GENESIS)
    assert (second.number, second.previous) == (2, first.digest)
    assert [first.action, second.action] == ["load", "unload"]
    assert audit.finding() is None


def test_the_file_has_the_same_records_as_redis(audit: AuditLog) -> None:
    for number in range(3):
        audit.record(event(subject=f"m{number}"))
    (path,) = audit.file.paths()
    assert path.read_bytes() == b"".join(record.line + b"\n" for record in audit.records())
    assert verify(read_files([path])).finding is None


def test_concurrent_records_form_one_chain(audit: AuditLog) -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: audit.record(event(subject=f"m{number}")), range(40)))
    assert sorted(record.subject for record in audit.records()) == sorted(
        f"m{number}" for number in range(40)
    )
    assert audit.finding() is None


def test_a_disk_that_does_not_answer_delays_records_and_no_request_for_ever(
    audit: AuditLog, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Another thread, and then another process, is in the middle of a write that never ends."""
    monkeypatch.setattr(log, "LOCK_TIMEOUT_S", 0.01)
    monkeypatch.setattr(chain_file, "LOCK_TIMEOUT_S", 0.01)
    with audit._lock:
        audit.record(event())
    assert "audit records are waiting: the disk of" in caplog.text
    with audit.file.lock():
        assert not audit.sync()
    assert list(audit.records()) == []
    assert audit.sync()
    assert [record.subject for record in audit.records()] == ["alpha"]
