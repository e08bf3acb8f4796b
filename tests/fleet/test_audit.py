"""Each operation leaves audit records of its begin and its end, in the call that makes the change."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from fleet.load_request import LoadRequest
from governance.audit import AuditEvent, AuditLog
from governance.authorization import ADMIN_KEY, OP_TOKEN, Authorization
from scheduler.job import Status
from tests.support.audit import audit_of
from tests.support.simulated_platform import SimulatedPlatform

BOSS = Authorization("boss", ADMIN_KEY)
SIGNED = Authorization("acme", OP_TOKEN, signers=("ann", "bob"), nonces=("d" * 64,))
BEGUN_BY_BOSS = ("boss", "admin key")
BY_PLATFORM = ("platform", "platform")


@pytest.fixture
def audit(platform: SimulatedPlatform) -> AuditLog:
    """The chain, without what the fixture has done."""
    audit = audit_of(platform.settings)
    platform.client.delete(audit.store.pending_key)
    return audit


def recorded(audit: AuditLog) -> list[tuple[tuple[str, str], str, str, str]]:
    """Who, by which authority; action, subject and outcome; the oldest first."""
    return [(named(event), event.action, event.subject, event.outcome) for event in events(audit)]


def events(audit: AuditLog) -> list[AuditEvent]:
    return [pending.event for pending in audit.store.waiting().events]


def named(event: AuditEvent) -> tuple[str, str]:
    return event.actor, event.authority


def details(audit: AuditLog) -> list[Mapping[str, Any]]:
    return [event.detail for event in events(audit)]


def test_a_load_has_its_signers_its_definition_and_its_outcome(
    platform: SimulatedPlatform, audit: AuditLog
) -> None:
    outcome = platform.fleet.load("alpha", authorization=SIGNED)
    platform.finish_load(outcome)
    assert [(action, result) for _, action, _, result in recorded(audit)] == [
        ("load", "begun"),
        ("load", "completed"),
    ]
    begun, completed = details(audit)
    assert outcome.operation is not None
    assert begun["operation"] == completed["operation"] == outcome.operation.id
    assert begun["signers"] == completed["signers"] == ["ann", "bob"]
    assert len(begun["definition"]) == 64


def test_a_failed_load_has_the_code_and_message_of_its_failure(
    platform: SimulatedPlatform, audit: AuditLog
) -> None:
    outcome = platform.fleet.load("alpha", authorization=BOSS)
    replica = outcome.assignments[0].replica
    platform.starting(replica)
    platform.crash(replica, code="load_failed")
    assert recorded(audit) == [
        (BEGUN_BY_BOSS, "load", "alpha", "begun"),
        (BEGUN_BY_BOSS, "load", "alpha", "failed"),
    ]
    assert (details(audit)[1]["code"], details(audit)[1]["message"]) == ("load_failed", "killed by SIGSEGV")


def test_a_cancelled_load_is_recorded_as_an_act_of_who_cancelled_it(
    platform: SimulatedPlatform, audit: AuditLog
) -> None:
    outcome = platform.fleet.load("alpha", authorization=BOSS)
    assert outcome.operation is not None
    platform.fleet.cancel_load(outcome.operation, SIGNED)
    assert recorded(audit) == [
        (BEGUN_BY_BOSS, "load", "alpha", "begun"),
        (("acme", "op token"), "load", "alpha", "cancelled"),
        (("acme", "op token"), "unload", "alpha", "begun"),
        (("acme", "op token"), "unload", "alpha", "completed"),
    ]


def test_an_eviction_is_recorded_with_the_authority_of_its_load(
    platform: SimulatedPlatform, audit: AuditLog
) -> None:
    platform.load("beta")
    platform.client.delete(audit.store.pending_key)
    outcome = platform.fleet.load("alpha", LoadRequest(evict="beta"), BOSS)
    assert outcome.eviction is not None
    platform.finish_unload(outcome.eviction)
    assert recorded(audit) == [
        (BEGUN_BY_BOSS, "load", "alpha", "begun"),
        (BEGUN_BY_BOSS, "unload", "beta", "begun"),
        (BEGUN_BY_BOSS, "unload", "beta", "completed"),
    ]


def test_the_recovery_and_the_restart_are_recorded_as_acts_of_the_platform(
    platform: SimulatedPlatform, audit: AuditLog
) -> None:
    platform.load()
    platform.client.delete(audit.store.pending_key)
    platform.register("w1")
    platform.finish_load(platform.recovery.reload("alpha"))
    platform.fleet.reset_to_configuration()
    assert recorded(audit) == [
        (BY_PLATFORM, "load", "alpha", "begun"),
        (BY_PLATFORM, "load", "alpha", "completed"),
        (BY_PLATFORM, "restart", "platform", "done"),
    ]


def test_a_lost_replica_that_is_replaced_is_recorded(platform: SimulatedPlatform, audit: AuditLog) -> None:
    platform.load(replicas=2)
    platform.client.delete(audit.store.pending_key)
    platform.register("w2")
    (outcome,) = platform.recovery.replace_lost()
    assert len(outcome.assignments) == 1
    assert recorded(audit) == [(BY_PLATFORM, "replace", "alpha", "begun")]
    assert details(audit) == [{"replicas": 1}]


def test_a_request_leaves_no_record(platform: SimulatedPlatform, audit: AuditLog) -> None:
    platform.load()
    platform.client.delete(audit.store.pending_key)
    platform.admit()
    claim = platform.next_claim()
    assert claim is not None
    platform.release(claim, Status.COMPLETED)
    assert events(audit) == []


def test_a_repeated_call_records_an_attempt_once(audit: AuditLog) -> None:
    arguments = {
        "call": "call_1",
        "by": b'{"actor":"acme","authority":"op token"}',
        "action": "load",
        "subject": "alpha",
        "outcome": "refused",
        "detail": b"{}",
    }
    replies = [audit.store._scripts.run("record_audit", **arguments) for _ in range(2)]
    assert replies == [1, 0]
    assert recorded(audit) == [(("acme", "op token"), "load", "alpha", "refused")]


def test_only_a_bounded_number_of_records_waits_and_the_others_are_counted(
    platform: SimulatedPlatform, audit: AuditLog
) -> None:
    """No API process runs for a long time."""
    pipeline = platform.client.pipeline(transaction=False)
    for _ in range(20_000):
        pipeline.xadd(audit.store.pending_key, {"action": "x"})
    pipeline.execute()
    platform.load()
    assert platform.client.xlen(audit.store.pending_key) == 20_000
    assert audit.store.waiting().lost == 2
