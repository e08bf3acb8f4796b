"""Checks the chain, record by record, and names the first one that is wrong."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from governance.audit.chain_file import file_lines, first_number
from governance.audit.chain_store import StoredRecord, parse_stored
from governance.audit.record import GENESIS, AuditRecord, DamagedRecord, parse_record
from governance.audit.signed_head import SignedHead


@dataclass(frozen=True, slots=True)
class Finding:
    """What is wrong: at which record (its number where it should be), where, and in a few words what."""

    number: int
    place: str
    problem: str

    def __str__(self) -> str:
        """The finding as a sentence."""
        return f"record {self.number} ({self.place}): {self.problem}"


@dataclass(frozen=True, slots=True)
class Verified:
    """The result: the first finding or None, and the first and the last good record (None without one)."""

    finding: Finding | None
    first: AuditRecord | None
    last: AuditRecord | None
    digests: dict[int, str]
    """The digests of the numbers that were asked for."""


Read = tuple[str, AuditRecord | DamagedRecord]
"""A record, or why it is none, and the place where it was read."""


def verify(records: Iterable[Read], wanted: Iterable[int] = ()) -> Verified:
    """Check that the records are one chain. It may begin with any number: the older ones were moved away.

    `wanted`: the numbers whose digests the caller needs.
    """
    first: AuditRecord | None = None
    last: AuditRecord | None = None
    digests: dict[int, str] = {}
    numbers = set(wanted)
    for place, read in records:
        number = last.number + 1 if last else 1
        if isinstance(read, DamagedRecord):
            return Verified(Finding(number, place, str(read)), first, last, digests)
        problem = _problem(read, last)
        if problem:
            return Verified(Finding(number if last else read.number, place, problem), first, last, digests)
        first, last = first or read, read
        if read.number in numbers:
            digests[read.number] = read.digest
    return Verified(None, first, last, digests)


def _problem(record: AuditRecord, last: AuditRecord | None) -> str:
    if last is None:
        if record.number < 1 or (record.number == 1) != (record.previous == GENESIS):
            return "it is not the beginning of a chain"
        return ""
    if record.number > last.number + 1:
        missing = f"{last.number + 1}" if record.number == last.number + 2 else f"to {record.number - 1}"
        return f"it is missing{'' if missing == str(last.number + 1) else f', and so are those {missing}'}"
    if record.number <= last.number:
        return f"record {record.number} appears twice or is out of order"
    if record.previous != last.digest:
        return "it does not follow the record before it: one of the two was replaced"
    return ""


def read_files(paths: Iterable[Path]) -> Iterator[Read]:
    """The records of files, in the order of their names. A file that was cut has a damaged one at its end."""
    for path in paths:
        named = first_number(path)
        if named is not None and not path.stat().st_size:
            yield path.name, DamagedRecord(f"the file is empty: its records, from {named} on, were cut off")
        for at, line in enumerate(file_lines(path), 1):
            place = f"{path.name}, line {at}"
            try:
                record = parse_record(line)
                if at == 1 and named not in (None, record.number):
                    raise DamagedRecord(
                        f"it has the number {record.number}, but the name of its file has {named}"
                    )
                yield place, record
            except DamagedRecord as error:
                is_cut = _is_incomplete_end(path, line)
                yield place, DamagedRecord("the file was cut within this record") if is_cut else error


def _is_incomplete_end(path: Path, line: bytes) -> bool:
    """Whether a file ends with this line, without an end of line."""
    with path.open("rb") as file:
        file.seek(max(0, file.seek(0, os.SEEK_END) - len(line)))
        return bool(line) and file.read() == line


def head_problem(head: SignedHead, verified: Verified) -> str:
    """What a signed head shows about a chain without a finding; "" if the head's record is in it.

    A head says nothing about the records after its own; one of an empty chain (0) nothing about any.
    The number of the head must have been one of those that `verify` was asked for.
    """
    first, last = verified.first, verified.last
    if head.number == 0:
        return ""
    if first is None or last is None or last.number < head.number:
        end = last.number if last else 0
        missing = f"record {head.number} is" if head.number == end + 1 else f"{end + 1} to {head.number} are"
        return f"the chain was shortened: it ends with record {end}, and {missing} missing"
    if head.number < first.number:
        return (
            f"the head is of record {head.number}, which is older than the records here: add the older files"
        )
    if verified.digests.get(head.number) != head.digest:
        return f"record {head.number} does not match the head: the chain was replaced"
    return ""


def read_lines(lines: Iterable[bytes], place: str) -> Iterator[Read]:
    """The records of lines from elsewhere."""
    for line in lines:
        try:
            yield place, parse_record(line)
        except DamagedRecord as error:
            yield place, error


def read_stored(entries: Iterable[StoredRecord]) -> Iterator[Read]:
    """The records of the stream in Redis."""
    for stored in entries:
        try:
            yield f"Redis, entry {stored.number}-0", parse_stored(stored)
        except DamagedRecord as error:
            yield f"Redis, entry {stored.number}-0", error
