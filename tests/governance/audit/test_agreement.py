"""The file and Redis agree again, whatever ended between the two, and no record is lost.

Each test makes the state that a crash, a loss or another host leaves on the disk and in Redis.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

import pytest
import redis

from governance.audit import AuditLog
from governance.audit.chain_store import BATCH
from governance.audit.record import AuditRecord
from governance.audit.verification import read_files, verify
from tests.governance.audit.conftest import event
from tests.support.audit import change_in_redis


def add(audit: AuditLog, *subjects: str) -> None:
    for subject in subjects:
        audit.store.add_pending(event(subject))


def next_records(audit: AuditLog) -> tuple[list[AuditRecord], list[str]]:
    """The records that the next call would append, and their pending entries."""
    waiting = audit.store.waiting()
    return audit._next_records(waiting), [one.entry for one in waiting.events]


def subjects(records: Sequence[AuditRecord]) -> list[str]:
    """The subjects without those of the chain's own records."""
    return [record.subject for record in records if record.actor != "platform"]


def own(audit: AuditLog) -> list[str]:
    """The actions of the chain's own records."""
    return [record.action for record in audit.records() if record.actor == "platform"]


def in_files(audit: AuditLog) -> list[AuditRecord]:
    return audit.file.latest(2**40)


def check(*logs: AuditLog) -> None:
    """All copies are the same chain, without a finding."""
    for audit in logs:
        assert audit.sync()
    for audit in logs:
        assert audit.finding() is None
        assert verify(read_files(audit.file.paths())).finding is None
        assert [one.line for one in in_files(audit)][-10:] == [one.line for one in audit.records()][-10:]
        assert audit.store.waiting().events == ()


def test_records_that_are_in_the_file_only_come_to_redis_after_a_crash_between_the_two(
    audit: AuditLog,
) -> None:
    add(audit, "a")
    audit.sync()
    add(audit, "b", "c")
    records, _ = next_records(audit)
    audit.file.append(records)
    check(audit)
    assert subjects(list(audit.records())) == ["a", "b", "c"]
    assert [one.line for one in audit.records()][1:] == [record.line for record in records]


def test_an_incomplete_line_is_cut_off_after_a_crash_in_the_middle_of_a_write(audit: AuditLog) -> None:
    add(audit, "a")
    audit.sync()
    add(audit, "b")
    records, _ = next_records(audit)
    (path,) = audit.file.paths()
    with path.open("ab") as file:
        file.write(records[0].line[:100])
    check(audit)
    assert subjects(in_files(audit)) == ["a", "b"]


def test_a_file_with_an_incomplete_first_line_only_begins_again(audit: AuditLog) -> None:
    add(audit, "a")
    records, _ = next_records(audit)
    with audit.file.lock():
        audit.file.append(records)
    (path,) = audit.file.paths()
    path.write_bytes(records[0].line[:50])
    check(audit)
    assert subjects(in_files(audit)) == ["a"]


def test_records_are_taken_back_where_another_host_was_faster(audit: AuditLog, other_host: AuditLog) -> None:
    add(audit, "a")
    audit.sync()
    other_host.sync()
    audit.sync()
    add(audit, "b", "c")
    records, _ = next_records(audit)
    audit.file.append(records[:1])  # and this process is killed; the other host does both
    add(other_host, "d")
    other_host.sync()
    check(audit, other_host)
    assert subjects(list(audit.records())) == ["a", "b", "c", "d"]
    assert own(audit) == ["file_begun"]  # of the other host, when it came


def test_records_that_wait_still_are_taken_back_and_appended_later(
    audit: AuditLog, other_host: AuditLog
) -> None:
    """The other host took another part of what waits."""
    add(audit, "a")
    audit.sync()
    other_host.sync()
    audit.sync()
    add(audit, "b")
    add(audit, "c")
    records, entries = next_records(audit)
    audit.file.append(records)
    end = other_host.store.end()
    theirs, _ = next_records(other_host)
    assert other_host.store.append(end, theirs[:0], entries[:0], 0)
    waiting = other_host.store.waiting()
    only_c = other_host._next_records(type(waiting)(waiting.end, waiting.events[1:], 0))
    assert other_host.store.append(waiting.end, only_c, [waiting.events[1].entry], 0)
    check(audit, other_host)
    assert subjects(list(audit.records())) == ["a", "c", "b"]


def test_the_chain_goes_on_from_the_file_when_redis_returned_empty(
    audit: AuditLog, own_client: redis.Redis
) -> None:
    add(audit, "a", "b")
    audit.sync()
    before = list(audit.records())
    own_client.flushall()
    add(audit, "c")
    check(audit)
    records = list(audit.records())
    assert records[:2] == before
    assert subjects(records) == ["a", "b", "c"]
    assert own(audit) == ["redis_restored"]


def test_the_end_that_redis_lost_comes_from_the_file(audit: AuditLog, own_client: redis.Redis) -> None:
    """A Redis that was killed may have lost what it acknowledged within the last second."""
    add(audit, "a", "b")
    audit.sync()
    kept = own_client.dump(audit.store.chain_key)
    add(audit, "c", "d")
    audit.sync()
    lost = list(audit.records())
    own_client.restore(audit.store.chain_key, 0, kept, replace=True)  # type: ignore[arg-type]
    check(audit)
    assert list(audit.records()) == lost


def test_an_event_that_waits_a_second_time_after_a_loss_is_in_the_chain_once(
    audit: AuditLog, own_client: redis.Redis
) -> None:
    add(audit, "a")
    audit.sync()
    chain_before = own_client.dump(audit.store.chain_key)
    add(audit, "b")
    pending_before = own_client.dump(audit.store.pending_key)
    audit.sync()
    for key, value in ((audit.store.chain_key, chain_before), (audit.store.pending_key, pending_before)):
        own_client.restore(key, 0, value, replace=True)  # type: ignore[arg-type]
    check(audit)
    assert subjects(list(audit.records())) == ["a", "b"]


def test_a_lost_file_is_written_again_from_redis_and_the_chain_has_a_record_of_it(audit: AuditLog) -> None:
    add(audit, "a", "b")
    audit.sync()
    for path in audit.file.paths():
        path.unlink()
    check(audit)
    assert subjects(in_files(audit)) == ["a", "b"]
    (begun,) = (record for record in audit.records() if record.actor == "platform")
    assert (begun.action, begun.detail) == ("file_begun", {"first": 1, "last": 2})


def test_a_new_file_begins_behind_a_record_that_was_changed_in_redis(audit: AuditLog) -> None:
    add(audit, "a", "b", "c", "d")
    audit.sync()
    (path,) = audit.file.paths()
    path.unlink()
    change_in_redis(audit, 2, lambda line: line.replace(b'"b"', b'"x"'))
    assert audit.sync()
    assert subjects(in_files(audit)) == ["c", "d"]
    assert verify(read_files(audit.file.paths())).finding is None
    finding = audit.finding()
    assert finding is not None
    assert finding.number == 2


def test_events_wait_where_the_end_of_the_chain_is_damaged_and_there_is_no_file(
    audit: AuditLog, caplog: pytest.LogCaptureFixture
) -> None:
    add(audit, "a", "b")
    audit.sync()
    (path,) = audit.file.paths()
    kept = path.read_bytes()
    path.unlink()
    change_in_redis(audit, 2, lambda line: line.replace(b'"b"', b'"x"'))
    add(audit, "c")
    assert not audit.sync()
    assert "audit records are waiting: the last record in Redis is damaged" in caplog.text
    path.write_bytes(kept)
    assert audit.sync()
    assert subjects(in_files(audit)) == ["a", "b", "c"]


def test_the_file_of_each_host_follows_the_chain_of_all(audit: AuditLog, other_host: AuditLog) -> None:
    for number in range(6):
        host = (audit, other_host)[number % 2]
        host.record(event(f"m{number}"))
    check(audit, other_host)
    assert (
        subjects(in_files(audit)) == subjects(in_files(other_host)) == [f"m{number}" for number in range(6)]
    )


def test_a_file_that_missed_records_which_redis_has_no_more_begins_another_file(
    audit: AuditLog, other_host: AuditLog, own_client: redis.Redis
) -> None:
    add(audit, "a")
    audit.sync()
    other_host.sync()
    for number in range(3):
        other_host.record(event(f"m{number}"))
    own_client.xtrim(audit.store.chain_key, maxlen=2, approximate=False)
    assert audit.sync()
    first, second = audit.file.paths()
    finding = verify(read_files([first, second])).finding
    assert finding is not None
    assert finding.problem.startswith("it is missing")
    assert verify(read_files([second])).finding is None
    gap = next(record for record in audit.records() if record.action == "file_gap")
    assert gap.detail == {"missing_from": 2, "missing_to": 3}
    assert verify(read_files(other_host.file.paths())).finding is None


def test_records_that_were_in_the_chain_once_are_kept_in_a_file_when_redis_has_another_chain(
    audit: AuditLog, other_host: AuditLog, own_client: redis.Redis, caplog: pytest.LogCaptureFixture
) -> None:
    """Redis was lost, and another host, whose file had less, was the first to continue."""
    add(audit, "a")
    audit.sync()
    other_host.sync()
    audit.sync()
    add(audit, "b")
    audit.sync()
    lost = in_files(audit)[-1]
    own_client.flushall()
    add(other_host, "c")
    other_host.sync()
    with caplog.at_level(logging.ERROR, "governance"):
        check(audit, other_host)
    assert "are no longer in Redis" in caplog.text
    superseded = next(record for record in audit.records() if record.action == "file_superseded")
    assert superseded.detail["digest"] == lost.digest
    kept = (audit.file.folder / superseded.detail["file"]).read_bytes()
    assert kept == lost.line + b"\n"
    assert subjects(list(audit.records())) == ["a", "c"]


def test_a_file_longer_than_a_batch_is_kept_when_redis_has_a_chain_of_its_own(
    audit: AuditLog, other_host: AuditLog, own_client: redis.Redis
) -> None:
    add(audit, *(f"m{number}" for number in range(BATCH + 5)))
    audit.sync()
    own_client.flushall()
    other_host.record(event("new"))
    check(audit, other_host)
    superseded = next(record for record in audit.records() if record.action == "file_superseded")
    assert (superseded.detail["first"], superseded.detail["last"]) == (1, BATCH + 5)
    kept = audit.file.folder / superseded.detail["file"]
    assert len(kept.read_bytes().splitlines()) == BATCH + 5


def test_a_redis_with_damaged_records_gets_those_of_the_file_and_the_damaged_ones_are_kept(
    audit: AuditLog, own_client: redis.Redis
) -> None:
    add(audit, "a", "b")
    audit.sync()
    end = audit.store.end()
    assert end is not None
    own_client.xadd(audit.store.chain_key, {"record": b'{"number": 3}', "digest": "0"}, id="3-0")
    add(audit, "c")
    check(audit)
    assert subjects(list(audit.records())) == ["a", "b", "c"]
    damaged = next(record for record in audit.records() if record.action == "redis_damaged")
    assert (audit.file.folder / damaged.detail["file"]).read_bytes() == b'{"number": 3}\n'


def test_a_last_line_that_was_changed_is_kept_and_the_chain_goes_on_in_another_file(audit: AuditLog) -> None:
    add(audit, "a", "b")
    audit.sync()
    (path,) = audit.file.paths()
    line = path.read_bytes().splitlines()[1]
    path.write_bytes(path.read_bytes().replace(line, line.replace(b'"subject":"b"', b'"subject":"x"')))
    add(audit, "c")
    assert audit.sync()
    assert audit.finding() is None
    assert subjects(list(audit.records())) == ["a", "b", "c"]
    finding = verify(read_files([path])).finding
    assert finding is not None
    assert (finding.number, finding.problem) == (2, "its digest does not match its content")


def test_events_that_found_no_place_are_counted_in_the_chain(
    audit: AuditLog, own_client: redis.Redis
) -> None:
    own_client.set(audit.store.pending_key.replace("audit_pending", "audit_lost"), 7)
    add(audit, "a")
    check(audit)
    lost = next(record for record in audit.records() if record.action == "records_lost")
    assert lost.detail == {"count": 7}
    assert audit.store.waiting().lost == 0
