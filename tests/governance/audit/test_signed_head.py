"""A signed head shows that a chain was shortened or replaced, and cannot be changed itself."""

from __future__ import annotations

import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from governance.audit.record import AuditRecord
from governance.audit.signed_head import InvalidHead, SignedHead, parse_head, sign_head
from governance.audit.verification import head_problem, verify
from governance.op_tokens.private_files import KeyFileError
from governance.platform_key import KEY_FILE, PlatformKey
from tests.governance.audit.conftest import chain


def signed(tmp_path: Path, record: AuditRecord) -> dict[str, Any]:
    return sign_head(PlatformKey(tmp_path), record.number, record.digest, 1e9, "runner")


def head_of(tmp_path: Path, record: AuditRecord) -> SignedHead:
    return parse_head(signed(tmp_path, record))


def problem_of(head: SignedHead, records: list[AuditRecord]) -> str:
    return head_problem(head, verify((("", record) for record in records), [head.number]))


def test_a_head_is_read_as_it_was_signed(tmp_path: Path) -> None:
    record = chain("a")[0]
    head = head_of(tmp_path, record)
    assert (head.number, head.digest) == (1, record.digest)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("number", 2),
        ("digest", "0" * 64),
        ("at", 1e9 + 1),
        ("runner", "another"),
        ("keyId", "0" * 16),
        ("publicKey", "AAAA"),
        ("signature", "AAAA"),
        ("signature", "not base64!"),
        ("number", "1"),
        ("number", True),
        ("digest", None),
    ],
)
def test_a_changed_head_is_refused(tmp_path: Path, field: str, value: Any) -> None:
    values = signed(tmp_path, chain("a")[0]) | {field: value}
    with pytest.raises(InvalidHead):
        parse_head(values)


def test_a_shortened_chain_is_found_by_a_head(tmp_path: Path) -> None:
    records = chain("a", "b", "c", "d")
    head = head_of(tmp_path, records[3])
    assert problem_of(head, records) == ""
    shortened = "the chain was shortened: it ends with record 3, and record 4 is missing"
    assert problem_of(head, records[:3]) == shortened
    assert problem_of(head, records[:1]).endswith("it ends with record 1, and 2 to 4 are missing")
    assert problem_of(head, []).startswith("the chain was shortened: it ends with record 0")


def test_a_head_of_records_that_were_moved_away_names_the_older_files(tmp_path: Path) -> None:
    records = chain("a", "b", "c", "d")
    assert problem_of(head_of(tmp_path, records[1]), records[2:]).startswith(
        "the head is of record 2, which is older"
    )


def test_a_chain_that_was_written_anew_is_found_by_a_head(tmp_path: Path) -> None:
    head = head_of(tmp_path, chain("a", "b")[1])
    replaced = problem_of(head, chain("a", "x", "c"))
    assert replaced == "record 2 does not match the head: the chain was replaced"


def test_the_key_is_made_once_by_all_processes_and_for_its_owner_only(tmp_path: Path) -> None:
    record = chain("a")[0]
    with ThreadPoolExecutor(8) as pool:
        heads = list(pool.map(lambda _: head_of(tmp_path, record), range(8)))
    assert len({head.public_key for head in heads}) == 1
    assert stat.S_IMODE((tmp_path / KEY_FILE).stat().st_mode) == 0o600
    assert [path.name for path in tmp_path.iterdir()] == [KEY_FILE]


def test_a_key_that_others_can_read_signs_nothing(tmp_path: Path) -> None:
    head_of(tmp_path, chain("a")[0])
    (tmp_path / KEY_FILE).chmod(0o644)
    with pytest.raises(KeyFileError, match="chmod 600"):
        head_of(tmp_path, chain("a")[0])
