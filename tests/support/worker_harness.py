"""A worker in the test's process: real engines and the real ledger, heartbeats sent by the test."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from typing import Any

import redis

from config.settings import Settings
from fleet.fleet import Fleet
from fleet.load_request import LoadRequest
from scheduler.errors import StokerError
from scheduler.job import Job
from scheduler.ledger import Ledger
from streams.events import End
from streams.log import read
from tasks.generation import Generation, Message, text_content
from workers.executor import Executor
from workers.reconciler import Reconciler


class WorkerHarness:
    """One worker without Celery: the test's heartbeats take the place of wake-up messages.

    `threads` are the threads of `spawn`, `errors` the `StokerError`s raised in them.
    """

    def __init__(self, settings: Settings, name: str = "w1") -> None:
        self.client = redis.Redis.from_url(settings.redis.url)
        self.settings = settings
        self.ledger = Ledger(self.client, settings)
        self.fleet = Fleet(self.client, settings)
        self.executor = Executor(name, settings, self.ledger, self.fleet)
        wake_up_list = f"{self.ledger.scripts.prefix}wake_ups"
        self.executor.begin(self.ledger.register(name, wake_up_list, "@ID@", "cpu"))
        self.reconciler = Reconciler(self.executor, settings.lease.beat_ms / 1000, self.spawn)
        self.threads: list[threading.Thread] = []
        self.errors: list[BaseException] = []

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

    def heartbeat(self) -> None:
        """Check for stalled jobs, send one heartbeat and apply its reply."""
        self.executor.stall_detector.check()
        self.reconciler.apply(self.ledger.heartbeat(self.executor.worker, self.executor.incarnation))

    def until(self, condition: Callable[[], Any], seconds: float = 10) -> Any:
        """Send heartbeats until the condition is true; returns its result."""
        deadline = time.monotonic() + seconds
        while not (result := condition()):
            assert time.monotonic() < deadline, "the condition did not become true"
            self.heartbeat()
            time.sleep(0.01)
        return result

    def load(self, name: str = "alpha", replicas: int = 1) -> None:
        """Load a model and wait until it is loaded."""
        self.fleet.load(name, LoadRequest(replicas))
        self.until(lambda: self.fleet.row(name).state == "loaded")

    def admit(self, text: str, model: str = "alpha") -> str:
        """Admit a job with this prompt; returns its id."""
        generation = Generation(model, (Message("user", text_content(text)),), allow_remote=True)
        id = f"resp_{os.urandom(6).hex()}"
        return self.ledger.admit(Job(id, "acme", model, "test", generation.to_json(), b"{}")).id

    def events(self, id: str) -> list[Any]:
        """The events in a job's log."""
        return [event for _, event in read(self.client, self.settings.redis.prefix, id)]

    def end(self, id: str) -> End:
        """Wait for the last event of a job."""
        self.until(lambda: isinstance((self.events(id) or [None])[-1], End))
        return self.events(id)[-1]  # type: ignore[no-any-return]
