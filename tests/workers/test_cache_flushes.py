"""A worker flushes its engines: stub engines, the real ledger, and heartbeats that the tests send."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from dataclasses import replace

import pytest

from api.inference.namespace_reader import LUA
from config.settings import Settings
from fleet.flush import FlushScope
from fleet.operation import Operation
from generation.generation import CacheOwner, Generation, Message, text_content
from governance.cache_namespaces import CacheNamespaces, raise_epoch, read_all, tenant_scope
from scheduler.job import Job
from store.scripts import Scripts
from streams.events import End
from tests.support.waiting import wait_until
from tests.support.worker_harness import WorkerHarness
from workers import cache_flushes

PROMPT = "a prompt of six words altogether"
A, B = CacheOwner("acme"), CacheOwner("other")


class FlushedWorker(WorkerHarness):
    """A worker with a loaded model; the test names the cache namespaces, as an API process does."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self.namespaces = CacheNamespaces()
        self.scripts = Scripts(self.client, settings.redis.prefix, LUA)
        self.load()  # before the first API process: the worker makes the secret
        self.read()

    def read(self) -> None:
        """Read the epochs, as an API process does."""
        self.namespaces.adopt(*read_all(self.client, self.settings.redis.prefix))

    def begin(self, owner: CacheOwner, text: str = PROMPT) -> str:
        """Admit a request of an owner; returns its id."""
        namespace = self.namespaces.as_read(owner.tenant, "alpha", owner.tag)
        generation = Generation(
            "alpha",
            (Message("user", text_content(text)),),
            cache_namespace=namespace,
            cache_owner=owner,
        )
        id = f"resp_{os.urandom(6).hex()}"
        return self.ledger.admit(Job(id, owner.tenant, "alpha", "test", generation.to_json(), b"{}")).id

    def cached(self, owner: CacheOwner, text: str = PROMPT) -> int:
        """How many words of a request were cached."""
        return self.cached_of(self.begin(owner, text))

    def cached_of(self, id: str) -> int:
        wait_until(lambda: isinstance((self.events(id) or [None])[-1], End))
        end = self.events(id)[-1]
        assert end.status == "completed", end
        return int(end.usage.cached_tokens)

    def flush(self, scope: FlushScope) -> Operation:
        """Begin a flush; its message is lost, so a heartbeat finds it. Returns the operation at its end."""
        outcome = self.fleet.flush(scope)
        assert outcome.operation is not None
        return self.ended(outcome.operation.id)

    def ended(self, id: str) -> Operation:
        def found() -> Operation:
            operation = self.fleet.operation(id)
            assert operation is not None
            return operation

        self.until(lambda: found().status.is_terminal, 20)
        return found()


@pytest.fixture
def worker(settings: Settings) -> Iterator[FlushedWorker]:
    made = FlushedWorker(settings)
    yield made
    made.close()


@pytest.mark.parametrize(
    "scope", [FlushScope("tenant", tenant="acme"), FlushScope("tag", tenant="acme", tag="session")]
)
def test_a_flushed_owner_computes_its_prefix_anew_and_the_hit_of_others_stays(
    worker: FlushedWorker, scope: FlushScope
) -> None:
    flushed, kept = CacheOwner("acme", scope.tag), [B, CacheOwner("acme", "another")][: 1 + bool(scope.tag)]
    for owner in (flushed, *kept):
        assert [worker.cached(owner), worker.cached(owner)] == [0, 6]
    ended = worker.flush(scope)
    assert (ended.status, ended.entries) == ("completed", 6)
    worker.read()
    assert [worker.cached(owner) for owner in kept] == [6] * len(kept)
    assert [worker.cached(flushed), worker.cached(flushed)] == [0, 6]


def test_a_flush_of_everything_or_of_a_model_leaves_nothing(worker: FlushedWorker) -> None:
    for scope in (FlushScope(), FlushScope("model", model="alpha")):
        for owner in (A, B):
            worker.cached(owner)
        assert worker.flush(scope).entries == 12
        worker.read()
        assert [worker.cached(owner) for owner in (A, B)] == [0, 0]
        assert worker.flush(scope).entries == 12
        worker.read()


def test_a_process_that_does_not_know_the_new_epochs_finds_and_leaves_nothing(worker: FlushedWorker) -> None:
    """Its requests have the old namespace, as have those that wait in a queue during the flush."""
    worker.cached(A)
    slots = [worker.begin(B, "/stub tokens=1000 tokens_per_s=50") for _ in range(2)]
    worker.until(lambda: all(id in worker.executor.running for id in slots))
    queued = [worker.begin(A) for _ in range(2)]
    assert worker.flush(FlushScope("tenant", tenant="acme")).entries == 6
    for id in slots:
        worker.ledger.cancel(id, "other")
        worker.until(lambda id=id: id not in worker.executor.running)
    assert [worker.cached_of(id) for id in queued] == [0, 0]
    assert [worker.cached(A), worker.cached(A)] == [0, 0]
    assert worker.flush(FlushScope("tenant", tenant="acme")).entries == 0
    worker.read()
    assert [worker.cached(A), worker.cached(A)] == [0, 6]


def test_a_request_without_an_owner_shares_nothing(worker: FlushedWorker) -> None:
    """An older process has queued it."""
    namespace = worker.namespaces.as_read("acme", "alpha", None)
    generation = Generation("alpha", (Message("user", text_content(PROMPT)),), cache_namespace=namespace)
    ids = [f"resp_{number}" for number in range(2)]
    for id in ids:
        worker.ledger.admit(Job(id, "acme", "alpha", "test", generation.to_json(), b"{}"))
    assert [worker.cached_of(id) for id in ids] == [0, 0]


def read_epochs(worker: FlushedWorker, version: str) -> None:
    """Read the epochs, as the API process `process` does that uses this version."""
    worker.scripts.run(
        "read_epochs", process="process", version=version, secret="a secret", max_age_us=60_000_000
    )


def test_epochs_that_were_raised_without_a_flush_are_read_at_the_next_request(worker: FlushedWorker) -> None:
    """The removal of a tenant raises its epoch; a later tenant of that name has a cache of its own."""
    assert [worker.cached(A), worker.cached(A)] == [0, 6]
    raise_epoch(worker.client, worker.settings.redis.prefix, tenant_scope("acme"))
    worker.read()
    assert worker.cached(A) == 0
    wait_until(lambda: worker.cached(A) == 6)


def test_a_flush_begins_when_the_api_processes_use_the_new_epochs(worker: FlushedWorker) -> None:
    read_epochs(worker, "")
    worker.cached(A)
    outcome = worker.fleet.flush(FlushScope())
    assert outcome.operation is not None
    worker.heartbeat()
    found = worker.fleet.operation(outcome.operation.id)
    assert found is not None
    assert found.status == "pending"
    assert worker.cached(A) == 6  # the operation has not ended, and the epochs here are the old ones
    raised = worker.client.hget(f"{worker.scripts.prefix}cache_epochs", "@version")
    read_epochs(worker, raised)
    assert worker.ended(outcome.operation.id).status == "completed"


def test_a_second_message_flushes_nothing(worker: FlushedWorker) -> None:
    worker.cached(A)
    outcome = worker.fleet.flush(FlushScope())
    assert outcome.operation is not None
    (assignment,) = outcome.assignments
    answers = [worker.executor.flush(assignment.replica, outcome.operation.id) for _ in range(2)]
    assert answers == ["6 entries", "nothing to do"]


def test_a_flush_ends_when_the_engine_is_killed_while_it_waits(worker: FlushedWorker) -> None:
    read_epochs(worker, "")
    outcome = worker.fleet.flush(FlushScope())
    assert outcome.operation is not None
    worker.heartbeat()
    (replica,) = worker.executor.replicas.by_name.values()
    assert replica.engine is not None
    assert replica.engine.pid is not None
    os.kill(replica.engine.pid, signal.SIGKILL)
    ended = worker.ended(outcome.operation.id)
    assert (ended.status, ended.entries) == ("completed", None)
    assert ended.reason is not None
    assert "ended before it had counted" in ended.reason


def test_a_flush_ends_without_a_count_when_the_engine_does_not_answer(
    worker: FlushedWorker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache_flushes, "ENGINE_TIMEOUT_S", 0.1)
    id = worker.start_job("/stub tokens=10 hang_after=2")
    worker.until(lambda: worker.events(id))  # what it writes before it hangs
    ended = worker.flush(FlushScope())
    assert (ended.status, ended.entries, ended.reason) == ("completed", None, cache_flushes.NO_ANSWER)


def test_a_replica_that_starts_during_a_flush_reports_that_it_holds_nothing(settings: Settings) -> None:
    models = {"alpha": replace(settings.models["alpha"], options={"stub_load_s": 30.0})}
    worker = WorkerHarness(replace(settings, models=models))
    worker.fleet.load("alpha")
    worker.heartbeat()
    wait_until(lambda: worker.executor.replicas.by_name)
    outcome = worker.fleet.flush(FlushScope())
    assert outcome.operation is not None
    id = outcome.operation.id
    worker.until(lambda: (found := worker.fleet.operation(id)) is not None and found.status.is_terminal)
    ended = worker.fleet.operation(id)
    assert ended is not None
    assert (ended.status, ended.entries, ended.memory_mib) == ("completed", 0, 0)
    worker.close()
