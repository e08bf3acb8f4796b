"""A chain in the Redis of the test, and events for it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import redis

from config.settings import Settings
from governance.audit import AuditEvent, AuditLog
from governance.audit.event import PendingEvent
from governance.audit.record import GENESIS, AuditRecord, make_record
from store.redis_connections import command_client
from tests.support.audit import audit_of


@pytest.fixture
def audit(settings: Settings) -> AuditLog:
    return audit_of(settings)


@pytest.fixture
def own_client(settings: Settings) -> Iterator[redis.Redis]:
    """A connection to the Redis of the test, which no other test uses at the time."""
    client = redis.Redis.from_url(settings.redis.url)
    yield client
    client.close()


@pytest.fixture
def other_host(settings: Settings, tmp_path: Path) -> AuditLog:
    """The same chain as another host has it, with files of its own."""
    return AuditLog(command_client(settings), settings.redis.prefix, tmp_path / "other")


def event(subject: str = "alpha", action: str = "load", **detail: object) -> AuditEvent:
    return AuditEvent("admin", "admin key", action, subject, "done", detail or {"operation": "load_1"})


def chain(*subjects: str) -> list[AuditRecord]:
    """Records of a chain that was written nowhere."""
    return list(_chain(subjects))


def _chain(subjects: tuple[str, ...]) -> Iterator[AuditRecord]:
    previous = GENESIS
    for number, subject in enumerate(subjects, 1):
        record = make_record(PendingEvent(f"{number}-0", 1e9 + number / 7, event(subject)), number, previous)
        previous = record.digest
        yield record
