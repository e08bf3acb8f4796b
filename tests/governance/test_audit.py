"""The audit log is one chain of records; a tampered record is detected."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import orjson
import pytest
import redis

from config.settings import Settings
from governance.audit import GENESIS, AuditLog


@pytest.fixture
def audit(client: redis.Redis, settings: Settings) -> AuditLog:
    return AuditLog(client, settings.redis.prefix)


def test_each_record_has_the_digest_of_the_one_before_it(audit: AuditLog) -> None:
    first = audit.record("admin", "load", "alpha", "load_1")
    second = audit.record("admin", "unload", "alpha")
    assert first.previous == GENESIS
    assert second.previous == first.digest
    assert [record.action for record in audit.records()] == ["load", "unload"]
    assert audit.broken_at() is None


def test_concurrent_records_form_one_chain(audit: AuditLog) -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: audit.record("admin", "load", f"m{number}"), range(40)))
    assert len(list(audit.records())) == 40
    assert audit.broken_at() is None


@pytest.mark.parametrize("tampered", ["changed", "removed"])
def test_a_chain_is_broken_at_the_record_that_was_tampered_with(
    audit: AuditLog, client: redis.Redis, settings: Settings, tampered: str
) -> None:
    for number in range(4):
        audit.record("admin", "load", f"m{number}")
    key = f"{{{settings.redis.prefix}}}:audit"
    entries = client.xrange(key)
    client.delete(key)
    for index, (id, fields) in enumerate(entries):
        forged = {b"record": orjson.dumps(orjson.loads(fields[b"record"]) | {"actor": "mallory"})}
        if index != 1:
            client.xadd(key, fields, id=id)
        elif tampered == "changed":
            client.xadd(key, forged, id=id)
    assert audit.broken_at() == 1
