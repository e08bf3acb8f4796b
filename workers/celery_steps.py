"""What a worker adds to Celery: the step that starts and stops its jobs, and its jobs among the tasks."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from celery import Celery, bootsteps
from celery.worker import state
from celery.worker.control import Panel, inspect_command

from workers.executor import Executor
from workers.running_job import RunningJob
from workers.task_events import GENERATE

SHOW_INTERVAL_S = 1.0
"""Celery's heartbeats, which Flower's list of workers shows, count the running tasks every 2 s."""

RECONNECT_DELAYS_S = (0.1, 0.5, 1.0, 2.0)
"""The pauses before Celery connects again: Redis may accept connections and refuse commands. Meanwhile the
worker's heartbeats find loads and unloads."""

STABLE_S = 10.0
"""After this time without a failure the first pause is used again."""


def add_steps(app: Celery, executor: Executor, start: Callable[[], None], stop: Callable[[], None]) -> None:
    """Make Celery's worker call `start` before it connects to the broker, and `stop` at its end; its consumer
    waits after each failure.

    `stop` has to wait for the running jobs.
    """

    class Jobs(bootsteps.StartStopStep):
        requires = ("celery.worker.components:Pool",)

        def start(self, parent: Any) -> None:
            executor.task_events.consumer = parent.consumer
            shown = ShownJobs(executor, parent.hostname)
            shown.extend_commands()
            parent.hub.call_repeatedly(SHOW_INTERVAL_S, shown.update)
            start()

        def stop(self, _parent: Any) -> None:
            stop()

        def terminate(self, _parent: Any) -> None:
            stop()

    app.steps["worker"].add(Jobs)
    app.steps["consumer"].add(ReconnectPause)


class ReconnectPause(bootsteps.Step):
    """Waits whenever Celery's consumer has stopped after an error. Celery connects again without a pause."""

    def __init__(self, parent: Any, **options: Any) -> None:
        super().__init__(parent, **options)
        self._failures = 0
        self._failed_at = 0.0

    def include(self, parent: Any) -> None:
        """Take part in each stop of the consumer's steps."""
        parent.steps.append(self)

    def start(self, parent: Any) -> None:
        """Do nothing: the pause is at the end, since any step may fail."""

    def stop(self, parent: Any) -> None:
        """Wait, unless the worker stops."""
        if parent.blueprint.state != bootsteps.RUN:  # type: ignore[attr-defined]  # not in the stubs
            return
        if time.monotonic() - self._failed_at > STABLE_S:
            self._failures = 0
        time.sleep(RECONNECT_DELAYS_S[min(self._failures, len(RECONNECT_DELAYS_S) - 1)])
        self._failures += 1
        self._failed_at = time.monotonic()


class ActiveJob:
    """A running job as Celery's remote control lists it."""

    def __init__(self, job: RunningJob, hostname: str) -> None:
        self._job = job
        self._hostname = hostname

    def info(self, safe: bool = False) -> dict[str, Any]:  # noqa: ARG002 - Celery passes it
        """Return Celery's description of the request."""
        return {
            "id": self._job.claim.id,
            "name": GENERATE,
            "args": [],
            "kwargs": {},
            "type": GENERATE,
            "hostname": self._hostname,
            "time_start": self._job.began_at,
            "acknowledged": True,
            "delivery_info": {},
            "worker_pid": None,
        }


class ShownJobs:
    """Puts the running jobs of the executor into Celery's list of active tasks, and counts them.

    All of it runs in Celery's main thread, as what reads the list does.
    """

    def __init__(self, executor: Executor, hostname: str) -> None:
        self._executor = executor
        self._hostname = hostname
        self._shown: dict[RunningJob, ActiveJob] = {}  # Celery's list holds its entries weakly
        self._counted = 0

    def update(self) -> None:
        """Bring Celery's list and counters up to date."""
        running = list(self._executor.running.values())
        self._shown = {job: self._shown.get(job) or ActiveJob(job, self._hostname) for job in running}
        for shown in self._shown.values():
            state.active_requests.add(shown)
        began = self._executor.task_events.began_count
        state.all_total_count[0] += began - self._counted
        state.total_count[GENERATE] += began - self._counted
        self._counted = began

    def extend_commands(self) -> None:
        """Make `celery inspect active` and `stats` answer with what is true at that moment."""
        for name, alias in (("active", "dump_active"), ("stats", None)):
            self._extend(name, alias)

    def _extend(self, name: str, alias: str | None) -> None:
        answer = Panel.data[name]

        @inspect_command(name=name, alias=alias, help=Panel.meta[name].help)
        def updated(panel_state: Any, **arguments: Any) -> Any:
            self.update()
            return answer(panel_state, **arguments)
