"""No byte of a record can change unnoticed, and what is wrong is named."""

from __future__ import annotations

import hashlib
import json

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from governance.audit.event import CUT, MAX_DETAIL, MAX_TEXT, AuditEvent, PendingEvent, parse_pending
from governance.audit.record import GENESIS, AuditRecord, DamagedRecord, make_record, parse_record
from governance.audit.verification import Read, verify
from tests.governance.audit.conftest import chain, event

TEXTS = st.text(max_size=300)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXTS,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(TEXTS, inner, max_size=5),
    max_leaves=20,
)
EVENTS = st.builds(AuditEvent, TEXTS, TEXTS, TEXTS, TEXTS, TEXTS, st.dictionaries(TEXTS, VALUES, max_size=6))
PENDING = st.builds(
    PendingEvent,
    st.from_regex(r"\d{1,13}-\d{1,3}", fullmatch=True),
    st.floats(0, 4e9).map(lambda at: round(at, 6)),
    EVENTS.map(AuditEvent.bounded),
)


def read_again(records: list[AuditRecord], changed: dict[int, bytes]) -> list[Read]:
    """The records as a reader finds them, those at some indexes with other bytes."""
    found: list[Read] = []
    for index, record in enumerate(records):
        line = changed.get(index, record.line)
        try:
            found.append((f"line {index + 1}", parse_record(line)))
        except DamagedRecord as error:
            found.append((f"line {index + 1}", error))
    return found


@given(PENDING)
def test_every_event_becomes_a_record_that_is_read_as_it_was_written(pending: PendingEvent) -> None:
    record = make_record(pending, 1, GENESIS)
    assert parse_record(record.line) == record
    values = json.loads(record.line)
    digest = values.pop("digest")
    assert digest == hashlib.sha256(rfc8785.dumps(values)).hexdigest()


@given(st.lists(PENDING, min_size=3, max_size=3), st.data())
def test_any_changed_byte_of_any_record_is_found_and_its_record_named(
    events: list[PendingEvent], data: st.DataObject
) -> None:
    records, previous = [], GENESIS
    for number, pending in enumerate(events, 1):
        records.append(make_record(pending, number, previous))
        previous = records[-1].digest
    index = data.draw(st.integers(0, 2))
    line = bytearray(records[index].line)
    at = data.draw(st.integers(0, len(line) - 1))
    line[at] ^= data.draw(st.integers(1, 255))
    finding = verify(read_again(records, {index: bytes(line)})).finding
    assert finding is not None
    assert finding.number == index + 1


@pytest.mark.parametrize("text", ["inserted", "left out"])
@given(data=st.data())
def test_a_byte_more_or_less_is_found_and_its_record_named(data: st.DataObject, text: str) -> None:
    records = chain("a", "b", "c")
    index = data.draw(st.integers(0, 2))
    line = bytearray(records[index].line)
    at = data.draw(st.integers(0, len(line) - 1))
    if text == "inserted":
        line.insert(at, data.draw(st.integers(0, 255)))
    else:
        del line[at]
    finding = verify(read_again(records, {index: bytes(line)})).finding
    assert finding is not None
    assert finding.number == index + 1


def test_a_chain_without_changes_has_no_finding_and_shows_its_ends() -> None:
    records = chain("a", "b", "c")
    verified = verify(read_again(records, {}), wanted=[2])
    assert (verified.finding, verified.first, verified.last) == (None, records[0], records[2])
    assert verified.digests == {2: records[1].digest}


@pytest.mark.parametrize(
    ("change", "number", "problem"),
    [
        (lambda r: [r[0], r[2], r[3]], 2, "it is missing"),
        (lambda r: [r[0], r[3]], 2, "it is missing, and so are those to 3"),
        (lambda r: [r[0], r[2], r[1], r[3]], 2, "it is missing"),
        (lambda r: [r[0], r[1], r[1], r[2]], 3, "record 2 appears twice or is out of order"),
        (lambda r: [r[0], r[1], other()[2], r[3]], 3, "it does not follow the record before it"),
        (lambda r: [r[0], *other()[1:2], *r[2:]], 2, "it does not follow the record before it"),
        (lambda r: [forged_beginning(r[1]), *r[2:]], 2, "it is not the beginning of a chain"),
    ],
    ids=["removed", "two removed", "swapped", "repeated", "replaced", "exchanged", "beginning"],
)
def test_a_record_that_is_removed_inserted_swapped_or_replaced_is_named(change, number, problem) -> None:
    changed = change(chain("a", "b", "c", "d"))
    finding = verify((f"line {index}", record) for index, record in enumerate(changed)).finding
    assert finding is not None
    assert (finding.number, finding.problem.startswith(problem)) == (number, True), finding.problem


def test_a_chain_whose_older_records_were_moved_away_is_verified_from_its_first_record() -> None:
    records = chain("a", "b", "c", "d")[2:]
    verified = verify(read_again(records, {}))
    assert (verified.finding, verified.first) == (None, records[0])


def test_a_text_and_a_detail_that_are_too_long_are_cut_with_a_mark() -> None:
    cut = event(
        "x" * 1000, text="y" * 10_000, **{f"field{number}": "z" * 250 for number in range(40)}
    ).bounded()
    assert (len(cut.subject), cut.subject.endswith(CUT)) == (MAX_TEXT, True)
    assert cut.detail["text"].endswith(CUT)
    assert cut.detail["cut"] == CUT
    assert len(json.dumps(cut.detail, ensure_ascii=False, separators=(",", ":")).encode()) <= MAX_DETAIL


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {b"by": b"[]", b"detail": b"7", b"at_us": b"soon"},
        {b"by": b"{", b"detail": b'{"a": "\xff"}', b"action": b"\xff\xfe", b"at_us": b"9" * 40},
        {b"by": b'{"actor": 7, "authority": null}', b"detail": b'{"n": 1e999}'},
    ],
)
def test_a_damaged_event_becomes_a_record_all_the_same(fields: dict[bytes, bytes]) -> None:
    record = make_record(parse_pending(b"1-0", fields), 1, GENESIS)
    assert parse_record(record.line) == record


def other() -> list[AuditRecord]:
    """Another chain of the same length."""
    return chain("w", "x", "y", "z")


def forged_beginning(record: AuditRecord) -> AuditRecord:
    """A record 2 that claims to be the first one."""
    return make_record(PendingEvent("2-0", 1e9, event("b")), record.number, GENESIS)
