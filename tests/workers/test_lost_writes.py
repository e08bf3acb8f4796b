"""Redis loses its latest writes while a worker runs a job: the text is whole, or the end is `log_lost`."""

from __future__ import annotations

import itertools

import pytest

from backends.base import Sink
from config.settings import LeaseSettings, Settings
from streams.events import End, TextDelta
from tests.support.scripted_engine import COMPLETED, ScriptedAdapter, ScriptedEngine
from tests.support.waiting import wait_until
from tests.support.worker_harness import WorkerHarness

TEXT = "abcd"
QUEUED, DISPATCHED = "queued", "dispatched"
WRITES = (QUEUED, DISPATCHED, *range(1, len(TEXT) + 1), "ended")
"""The writes of one job, in their order: each event is a write of its own."""


class Rollback:
    """Runs one job, and restores what Redis had after an earlier write of it."""

    def __init__(self, worker: WorkerHarness, engine: ScriptedEngine) -> None:
        self.worker = worker
        self.engine = engine
        self.kept: dict[object, dict[bytes, bytes]] = {}
        self.id = ""
        self.first_run: Sink | None = None

    def run(self, last_write: object) -> None:
        """Run the job up to that write; keep the content of Redis after each one."""
        first, blocker = self.worker.admit("Hi"), self.worker.admit("Hi")
        wait_until(lambda: {first, blocker} <= self.engine.sinks.keys())
        self.id = self.worker.admit("Hi")
        self.keep(QUEUED)
        if last_write == QUEUED:
            return
        self.worker.on_loop(self.engine.sinks[blocker].finish, COMPLETED)
        wait_until(lambda: self.id in self.engine.sinks and not self.is_open(blocker))
        self.first_run = self.engine.sinks[self.id]
        self.worker.on_loop(self.engine.sinks[first].finish, COMPLETED)
        wait_until(lambda: not self.is_open(first))
        self.keep(DISPATCHED)
        for number in range(1, len(TEXT) + 1):
            if last_write == WRITES[number]:
                return
            self.produce(number)
            wait_until(lambda count=number: len(self.worker.events(self.id)) == count)
            self.keep(number)
        if last_write == "ended":
            self.finish()
            wait_until(lambda: not self.is_open(self.id))

    def produce(self, number: int) -> None:
        """Let the engine produce the event with that number."""
        assert self.first_run is not None
        self.worker.on_loop(self.first_run.delta, TextDelta(TEXT[number - 1]))

    def finish(self) -> None:
        """Let the engine finish the first run."""
        assert self.first_run is not None
        self.worker.on_loop(self.first_run.finish, COMPLETED)

    def keep(self, write: object) -> None:
        keys = self.worker.client.keys(f"{self.worker.ledger.scripts.prefix}*")
        self.kept[write] = {key: self.worker.client.dump(key) for key in keys}  # type: ignore[union-attr, misc]

    def restore(self, write: object) -> None:
        client = self.worker.client
        now = set(client.keys(f"{self.worker.ledger.scripts.prefix}*"))  # type: ignore[arg-type]
        with client.pipeline(transaction=True) as pipe:
            for key in now - self.kept[write].keys():
                pipe.delete(key)
            for key, value in self.kept[write].items():
                pipe.restore(key, 0, value, replace=True)
            pipe.execute()

    def is_open(self, id: str) -> bool:
        """Whether the worker runs a job, or has not written its end."""
        return id in self.worker.executor.running or id in self.worker.executor.event_writer.releasing


def text_of(events: list[object]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))


def test_the_text_is_whole_or_the_response_is_lost_wherever_a_jobs_writes_are_rolled_back(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    adapter = ScriptedAdapter()
    monkeypatch.setattr("workers.replica_manager.adapter", lambda _name: adapter)
    monkeypatch.setattr(LeaseSettings, "heartbeat_ms", 10)
    worker = WorkerHarness(settings)
    worker.load()
    (engine,) = adapter.engines
    outcomes = {}
    try:
        for back, at in itertools.combinations(WRITES, 2):
            job = Rollback(worker, engine)
            engine.on_submit = lambda _sink: None
            job.run(at)
            engine.on_submit = answer  # of a second run
            job.restore(back)
            if at in WRITES[1:-1]:
                for number in range(WRITES.index(at), len(TEXT) + 1):
                    job.produce(number)
                job.finish()
            worker.until(lambda id=job.id: ends(worker, id))
            worker.until(lambda: not worker.client.keys(f"{worker.ledger.scripts.prefix}slots:*"))
            *events, end = worker.events(job.id)
            assert (text_of(events), end.code) == (TEXT, None) or (
                end.code == "log_lost" and TEXT.startswith(text_of(events))
            ), (back, at)
            outcomes[back, at] = end.status
    finally:
        worker.close()
    assert outcomes[QUEUED, "ended"] == "completed", "the ledger gave the job to the worker again"
    assert outcomes[DISPATCHED, "ended"] == "failed", "what a client has read is not produced again"


def answer(sink: Sink) -> None:
    sink.delta(TextDelta(TEXT))
    sink.finish(COMPLETED)


def ends(worker: WorkerHarness, id: str) -> list[End]:
    return [event for event in worker.events(id) if isinstance(event, End)]
