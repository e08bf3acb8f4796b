"""A worker in the test's process: real engines and the real ledger, heartbeats sent by the test."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any, TypeVar

import redis

from config.settings import Settings
from fleet.fleet import Fleet
from fleet.load_request import LoadRequest
from generation.generation import Embedding, Generation, Message, text_content
from scheduler.job import Job
from store.errors import StokerError
from streams.events import End
from tests.support.event_logs import read_log
from tests.support.thread_ledger import ThreadLedger
from tests.support.waiting import wait_for
from workers.claim_intake import ClaimIntake
from workers.executor import Executor
from workers.io_loop import IoLoop
from workers.reconciler import Reconciler

T = TypeVar("T")


class WorkerHarness:
    """One worker without Celery. Without `intake`, only heartbeats and freed slots bring it claims.

    `threads` are the threads of `spawn`, `errors` the `StokerError`s raised in them.
    """

    def __init__(self, settings: Settings, name: str = "w1", *, intake: bool = True) -> None:
        self.client = redis.Redis.from_url(settings.redis.url)
        self.settings = settings
        self.ledger = ThreadLedger(self.client, settings)
        self.fleet = Fleet(self.client, settings)
        self.io = IoLoop()
        self.io.start()
        self.executor = Executor(name, settings, self.ledger, self.fleet, self.io.loop)
        incarnation = self.fleet.registry.register(name, "cpu")
        self.executor.begin(incarnation)
        if intake:
            key = self.ledger.claims_key(incarnation)
            taking = ClaimIntake(settings, key, self.executor.begin_jobs, self.executor.recover_claims)
            self.io.spawn(taking.run())
        self.reconciler = Reconciler(self.executor, settings.lease.heartbeat_ms / 1000, self.spawn)
        self.threads: list[threading.Thread] = []
        self.errors: list[BaseException] = []

    def close(self) -> None:
        """Kill all engines and end the loop."""
        self.executor.kill()
        self.io.stop()

    def spawn(self, call: Callable[[], object]) -> None:
        """Run a call in a thread."""

        def run() -> None:
            try:
                call()
            except StokerError as error:
                self.errors.append(error)

        thread = threading.Thread(target=run, daemon=True)
        self.threads.append(thread)
        thread.start()

    def on_loop(self, call: Callable[..., T], *arguments: Any) -> T:
        """Make a call on the worker's event loop and return its result."""

        async def run() -> T:
            return call(*arguments)

        return self.io.call(run())

    def heartbeat(self) -> None:
        """Check for stalled jobs, send one heartbeat and apply its reply."""
        self.on_loop(self.executor.stall_detector.check)
        reply = self.executor.heartbeat(self.ledger)
        self.on_loop(self.reconciler.apply, reply)

    def until(self, condition: Callable[[], Any], seconds: float = 10) -> Any:
        """Send heartbeats until the condition is true; returns its result."""
        return wait_for(lambda: condition() or self.heartbeat(), seconds)

    def load(self, name: str = "alpha", replicas: int = 1) -> None:
        """Load a model and wait until it is loaded."""
        self.fleet.load(name, LoadRequest(replicas))
        self.until(lambda: self.fleet.row(name).state == "loaded")

    def admit(self, text: str, model: str = "alpha", embedding: Embedding | None = None, **more: Any) -> str:
        """Admit a job with this prompt, or for vectors; `more` are further fields. Returns its id."""
        messages = (Message("user", text_content(text)),)
        generation = Generation(model, messages, allow_remote=True, embedding=embedding, **more)
        id = f"resp_{os.urandom(6).hex()}"
        return self.ledger.admit(Job(id, "acme", model, "test", generation.to_json(), b"{}")).id

    def start_job(self, text: str, model: str = "alpha") -> str:
        """Admit a job and wait until it runs; returns its id."""
        id = self.admit(text, model)
        self.until(lambda: id in self.executor.running or self.events(id))
        return id

    def events(self, id: str) -> list[Any]:
        """The events in a job's log."""
        return [event for _, event in read_log(self.client, self.settings.redis.prefix, id)]

    def end(self, id: str) -> End:
        """Wait for the last event of a job."""
        self.until(lambda: isinstance((self.events(id) or [None])[-1], End))
        return self.events(id)[-1]  # type: ignore[no-any-return]
