"""The scripts of proposals: each state and its end, the bounds, and calls that are repeated."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest
import redis

from config.settings import Settings
from fleet.state_changes import STREAM_START, StateChanges
from governance.audit import AuditLog
from governance.proposals import store as store_module
from governance.proposals.errors import ProposalEnded, SignatureRefused, TooManyProposals, UnknownProposal
from governance.proposals.proposal import ProposalStatus, new_proposal_id
from governance.proposals.store import ProposalStore
from tests.governance.proposals.conftest import HISTORY_S, TTL_S
from tests.governance.proposals.samples import BY, NEW, new, signature

S = 1_000_000


def start(client: redis.Redis, settings: Settings, id: str, operation: str) -> None:
    """Start a proposal as the scripts that begin an operation do."""
    key = f"{{{settings.redis.prefix}}}:proposal:{id}"
    client.hset(key, mapping={"status": "started", "operation_id": operation})


def test_a_proposal_is_read_as_it_was_made(store: ProposalStore) -> None:
    made = store.create(NEW)
    assert made == store.get(made.id)
    for field in NEW.__dataclass_fields__:
        assert getattr(made, field) == getattr(NEW, field)
    assert made.status is ProposalStatus.OPEN
    assert (made.signatures, made.missing, made.operation_id, made.reason) == ((), 2, None, None)
    assert 0 <= made.created_at + TTL_S - made.expires_at < 1


def test_a_repeated_creation_stores_one_proposal(store: ProposalStore) -> None:
    id = new_proposal_id()
    assert store.create(NEW, id) == store.create(NEW, id)
    assert [one.id for one in store.page(10).proposals] == [id]


def test_the_last_signature_that_is_needed_approves_a_proposal(store: ProposalStore) -> None:
    id = store.create(NEW).id
    first = store.sign(id, signature("alice"), BY)
    assert (first.status, first.missing, store.expire()) == (ProposalStatus.OPEN, 1, [])
    second = store.sign(id, signature("bob"), BY)
    assert (second.status, second.missing, store.expire()) == (ProposalStatus.APPROVED, 0, [id])
    assert [one.signer for one in second.signatures] == ["alice", "bob"]
    assert second.approved_at is not None


def test_a_signer_counts_once(store: ProposalStore) -> None:
    id = store.create(NEW).id
    store.sign(id, signature("alice"), BY)
    with pytest.raises(SignatureRefused) as error:
        store.sign(id, signature("alice", "b3RoZXI="), BY)
    assert error.value.code == "already_signed"
    assert store.get(id).missing == 1


def test_the_same_signature_again_changes_nothing(store: ProposalStore) -> None:
    id = store.create(NEW).id
    for _ in range(2):
        assert store.sign(id, signature("alice"), BY).missing == 1
    store.sign(id, signature("bob"), BY)
    assert store.sign(id, signature("alice"), BY).status is ProposalStatus.APPROVED


def test_many_signatures_at_once_approve_a_proposal_once(store: ProposalStore) -> None:
    id = store.create(new(threshold=5)).id

    def sign(number: int) -> bool:
        try:
            store.sign(id, signature(f"signer{number}"), BY)
        except ProposalEnded:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        counted = sum(pool.map(sign, range(16)))
    assert (counted, len(store.get(id).signatures), store.expire()) == (5, 5, [id])


@pytest.mark.parametrize("approved", [False, True])
def test_a_proposal_is_withdrawn_until_it_is_started(store: ProposalStore, approved: bool) -> None:
    id = store.create(new(threshold=1)).id
    if approved:
        store.sign(id, signature("alice"), BY)
    for _ in range(2):
        withdrawn = store.withdraw(id, "a mistake", BY)
        assert (withdrawn.status, withdrawn.reason) == (ProposalStatus.WITHDRAWN, "a mistake")
    assert withdrawn.ended_at is not None
    assert store.expire() == []
    with pytest.raises(ProposalEnded, match="is withdrawn"):
        store.sign(id, signature("bob"), BY)
    with pytest.raises(ProposalEnded, match="is withdrawn"):
        store.mark_outdated(id, "changed")


def test_a_started_proposal_is_neither_withdrawn_nor_outdated(
    store: ProposalStore, client: redis.Redis, settings: Settings
) -> None:
    id = store.create(new(threshold=1)).id
    store.sign(id, signature("alice"), BY)
    start(client, settings, id, "load_1")
    for end in partial(store.withdraw, by=BY), store.mark_outdated:
        with pytest.raises(ProposalEnded, match="is started"):
            end(id, reason="too late")
    assert store.get(id).operation_id == "load_1"


@pytest.mark.parametrize("approved", [False, True])
def test_a_proposal_expires_at_its_end_and_not_before(store: ProposalStore, approved: bool) -> None:
    made = store.create(new(threshold=1 if approved else 2))
    if approved:
        store.sign(made.id, signature("alice"), BY)
    left_us = int((made.expires_at - store.scripts.now()) * S)
    store.scripts.offset_us = left_us - 30 * S
    assert store.expire() == ([made.id] if approved else [])
    assert not store.get(made.id).status.has_ended
    store.scripts.offset_us = left_us + S
    if not approved:
        with pytest.raises(ProposalEnded, match="is expired"):
            store.sign(made.id, signature("alice"), BY)
    assert store.expire() == []
    expired = store.get(made.id)
    assert (expired.status, expired.reason) == (
        ProposalStatus.EXPIRED,
        "it was not started in time",
    )


def test_an_ended_proposal_is_kept_for_its_time(
    store: ProposalStore, client: redis.Redis, settings: Settings
) -> None:
    id = store.create(NEW).id
    key = f"{{{settings.redis.prefix}}}:proposal:{id}"
    assert client.ttl(key) == -1
    store.withdraw(id, "a mistake", BY)
    assert HISTORY_S - 10 < client.ttl(key) <= HISTORY_S
    client.delete(key)  # its time is over
    store.expire()
    assert client.zcard(f"{{{settings.redis.prefix}}}:proposals") == 0
    with pytest.raises(UnknownProposal):
        store.get(id)
    for end in partial(store.withdraw, by=BY), store.mark_outdated:
        with pytest.raises(UnknownProposal):
            end(id, reason="gone")
    with pytest.raises(UnknownProposal):
        store.sign(id, signature("alice"), BY)


def test_ended_proposals_leave_no_key_but_their_history(
    store: ProposalStore, client: redis.Redis, settings: Settings
) -> None:
    id = store.create(new(threshold=1)).id
    store.sign(id, signature("alice"), BY)
    store.mark_outdated(id, "changed")
    names = {name.decode().partition(":")[2] for name in client.scan_iter(f"{{{settings.redis.prefix}}}:*")}
    assert names == {f"proposal:{id}", "proposals", "changes", "audit_pending"}


def test_open_proposals_are_bounded_by_tenant_and_in_all(
    store: ProposalStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_module, "MAX_OPEN_OF_TENANT", 2)
    monkeypatch.setattr(store_module, "MAX_OPEN", 3)
    first = store.create(NEW)
    store.create(NEW)
    with pytest.raises(TooManyProposals, match="of the tenant acme, at most 2"):
        store.create(NEW)
    store.create(new(tenant="other"))
    with pytest.raises(TooManyProposals, match="in all, at most 3"):
        store.create(new(tenant="other"))
    store.withdraw(first.id, "a mistake", BY)
    store.create(NEW)


def test_the_oldest_ended_proposal_is_forgotten_first(
    store: ProposalStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_module, "MAX_KEPT", 3)
    monkeypatch.setattr(store_module, "MAX_OPEN", 3)
    kept, ended, later = (store.create(NEW).id for _ in range(3))
    for id in (ended, later):
        store.withdraw(id, "a mistake", BY)
    latest = store.create(NEW).id
    assert [one.id for one in store.page(10).proposals] == [latest, later, kept]


def test_pages_have_every_proposal_once_the_latest_first(store: ProposalStore) -> None:
    ids = [store.create(NEW).id for _ in range(7)]
    found, cursor = [], None
    while True:
        page = store.page(3, cursor=cursor)
        found += [one.id for one in page.proposals]
        cursor = page.cursor
        if cursor is None:
            break
        assert len(page.proposals) == 3
    assert found == ids[::-1]


@pytest.mark.parametrize("status", ["open", "withdrawn"])
def test_a_page_can_be_filtered_by_status(
    store: ProposalStore, monkeypatch: pytest.MonkeyPatch, status: str
) -> None:
    monkeypatch.setattr(store_module, "MAX_READ", 3)
    ids = [store.create(NEW).id for _ in range(8)]
    for id in ids[1::2]:
        store.withdraw(id, "a mistake", BY)
    found, cursor = [], None
    while True:
        page = store.page(2, ProposalStatus(status), cursor)
        found += [one.id for one in page.proposals]
        cursor = page.cursor
        if cursor is None:
            break
    assert found == ids[status == "withdrawn" :: 2][::-1]


def test_the_proposals_that_wait_are_read_without_those_that_have_ended(
    store: ProposalStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_module, "MAX_READ", 1)
    waiting = store.create(NEW).id
    approved = store.create(NEW).id
    for signer in ("alice", "bob"):
        store.sign(approved, signature(signer), BY)
    for _ in range(3):
        store.withdraw(store.create(NEW).id, "a mistake", BY)
    for status, id in ((ProposalStatus.OPEN, waiting), (ProposalStatus.APPROVED, approved)):
        page = store.page(10, status)
        assert ([one.id for one in page.proposals], page.cursor) == ([id], None)


def test_each_change_is_an_entry_of_the_stream_of_changes(
    store: ProposalStore, client: redis.Redis, settings: Settings
) -> None:
    id = store.create(NEW).id
    store.sign(id, signature("alice"), BY)
    store.sign(id, signature("bob"), BY)
    store.mark_outdated(id, "the files of alpha changed")
    changes = StateChanges(client, settings.redis.prefix).read(STREAM_START)
    assert [(one.was, one.status) for one in changes] == [
        (None, "open"),
        ("open", "open"),
        ("open", "approved"),
        ("approved", "outdated"),
    ]
    assert {(one.proposal, one.kind) for one in changes} == {(id, "model-load")}
    assert changes[-1].message == "the files of alpha changed"


def test_each_change_waits_for_the_audit_chain(
    store: ProposalStore, client: redis.Redis, settings: Settings, tmp_path: Path
) -> None:
    id = store.create(NEW).id
    store.sign(id, signature("alice"), BY)
    store.sign(id, signature("bob"), BY)
    store.mark_outdated(id, "the files of alpha changed")
    gone = store.create(NEW).id
    store.withdraw(gone, "a mistake", BY)
    late = store.create(NEW).id
    store.scripts.offset_us = (TTL_S + 1) * S
    store.expire()
    log = AuditLog(client, settings.redis.prefix, tmp_path / "audit")
    log.sync()
    found = list(log.records())
    assert [(one.actor, one.action, one.subject, one.outcome) for one in found] == [
        ("acme", "propose", id, "done"),
        ("acme", "sign_proposal", id, "done"),
        ("acme", "sign_proposal", id, "done"),
        ("acme", "approve_proposal", id, "done"),
        ("platform", "outdate_proposal", id, "done"),
        ("acme", "propose", gone, "done"),
        ("acme", "withdraw_proposal", gone, "done"),
        ("acme", "propose", late, "done"),
        ("platform", "expire_proposal", late, "done"),
    ]
    details = [one.detail for one in found]
    assert details[1] == {"signer": "alice", "kid": "alice-1", "key": "key_1"}
    assert details[4]["reason"] == "the files of alpha changed"
    assert log.finding() is None


def test_a_proposal_that_an_earlier_version_has_stored_names_its_tenant(
    store: ProposalStore, client: redis.Redis, settings: Settings
) -> None:
    id = store.create(NEW).id
    client.hdel(f"{{{settings.redis.prefix}}}:proposal:{id}", "by")
    assert store.get(id).by == {"actor": "acme", "authority": "governance key"}
