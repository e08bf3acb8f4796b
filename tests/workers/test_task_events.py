"""The task events of jobs, as a monitor receives them, and the running jobs in Celery's remote control."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import pytest
from celery import Celery
from celery.events import EventDispatcher
from celery.events.state import State
from celery.worker import state
from celery.worker.control import Panel

from config.settings import Settings
from scheduler.job import Claim, Release, Status
from tasks.app import app as default_app
from tasks.app import create_app
from tests.support.waiting import wait_until
from workers import celery_steps, task_events
from workers.io_loop import IoLoop
from workers.running_job import RunningJob
from workers.task_events import GENERATE, TaskEvents

HOST = "w1@here"


@pytest.fixture
def app(settings: Settings) -> Iterator[Celery]:
    celery = create_app(lambda: settings)
    yield celery
    celery.close()
    default_app.set_default()


class Monitor:
    """Task events that go through Celery's own dispatcher and Redis, and a monitor that receives them."""

    def __init__(self, app: Celery, io: IoLoop) -> None:
        self.io = io
        self.received: list[dict[str, Any]] = []
        self.state = State()
        self.dispatcher = EventDispatcher(app.connection_for_write(), hostname=HOST, app=app)
        self.task_events = TaskEvents(io.loop)
        self.task_events.consumer = SimpleNamespace(event_dispatcher=self.dispatcher)
        self._receiver = app.events.Receiver(app.connection_for_read(), handlers={"*": self._receive})
        self._thread = threading.Thread(target=self._capture)
        self._thread.start()
        wait_until(self._subscribed)

    def close(self) -> None:
        self._receiver.should_stop = True
        self.dispatcher.send("probe-sent")  # ends its wait
        self._thread.join()

    def _capture(self) -> None:
        with suppress(TimeoutError):
            self._receiver.capture(limit=None, timeout=None, wakeup=False)

    def _subscribed(self) -> bool:
        self.dispatcher.send("probe-sent")
        return bool(self.received)

    def _receive(self, event: dict[str, Any]) -> None:
        self.received.append(event)
        self.state.event(event)

    def wait_for(self, count: int) -> list[dict[str, Any]]:
        """Wait until this many events of tasks have arrived."""
        wait_until(lambda: len(self.tasks()) >= count)
        return self.tasks()

    def tasks(self) -> list[dict[str, Any]]:
        return [event for event in self.received if event["type"].startswith("task-")]

    def began(self, id: str) -> RunningJob:
        job = RunningJob(Claim(id, "1", "alpha#1.0", b"{}", 0, 1), SimpleNamespace())  # type: ignore[arg-type]
        self.io.loop.call_soon_threadsafe(self.task_events.began, job)
        return job

    def ended(self, job: RunningJob, status: Status = Status.COMPLETED, **more: str) -> None:
        release = Release(job.claim.id, "1", status, **more)  # type: ignore[arg-type]
        self.io.loop.call_soon_threadsafe(self.task_events.ended, job, release)


@pytest.fixture
def monitor(app: Celery, io: IoLoop) -> Iterator[Monitor]:
    made = Monitor(app, io)
    yield made
    made.close()


def test_a_job_is_shown_as_a_task_with_its_true_times(monitor: Monitor) -> None:
    before = time.time()
    job = monitor.began("resp_1")
    time.sleep(0.05)
    monitor.ended(job)
    events = monitor.wait_for(3)
    assert [event["type"] for event in events] == ["task-received", "task-started", "task-succeeded"]
    assert {event["hostname"] for event in events} == {HOST}
    task = monitor.state.tasks["resp_1"]
    assert (task.name, task.state, task.result) == (GENERATE, "SUCCESS", "'completed'")
    assert (task.args, task.kwargs, task.root_id) == ("()", {}, "resp_1")
    now = time.time()
    assert before <= task.received == task.started < task.succeeded < now
    assert 0.05 <= task.runtime < now - before
    clocks = [event["clock"] for event in events]
    assert clocks == sorted(set(clocks)), "a monitor orders events by their clock"


def test_a_failed_job_is_a_failed_task_with_its_reason(monitor: Monitor) -> None:
    monitor.ended(
        monitor.began("resp_1"), Status.FAILED, code="engine_crashed", message="the engine ended by itself"
    )
    monitor.wait_for(3)
    task = monitor.state.tasks["resp_1"]
    assert task.state == "FAILURE"
    assert task.exception == "Failed('the engine ended by itself')"
    assert "engine_crashed" in task.traceback


def test_a_cancelled_job_is_a_task_that_succeeded_with_that_result(monitor: Monitor) -> None:
    monitor.ended(monitor.began("resp_1"), Status.CANCELLED, code="cancelled")
    monitor.wait_for(3)
    assert monitor.state.tasks["resp_1"].result == "'cancelled'"


def test_a_running_job_is_shown_as_started(monitor: Monitor) -> None:
    monitor.began("resp_1")
    monitor.wait_for(2)
    assert monitor.state.tasks["resp_1"].state == "STARTED"


def test_the_events_of_many_jobs_arrive_in_few_messages_and_in_their_order(
    monitor: Monitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    messages: list[list[dict[str, Any]]] = []
    publish = task_events._publish
    monkeypatch.setattr(
        task_events, "_publish", lambda *arguments: (messages.append(arguments[1]), publish(*arguments))
    )

    def run_all() -> None:
        for number in range(100):
            monitor.ended(monitor.began(f"resp_{number}"))

    # in one call of the loop, which the thread of this test does not interrupt
    monitor.io.call(_call(run_all))
    assert len(monitor.wait_for(300)) == 300
    assert len(messages) < 10
    assert {task.state for task in monitor.state.tasks.values()} == {"SUCCESS"}


def test_events_wait_for_the_next_message_when_they_are_collected_while_one_is_sent(
    monitor: Monitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    messages: list[list[dict[str, Any]]] = []

    def publish(_dispatcher: Any, events: list[dict[str, Any]]) -> None:
        messages.append(events)
        if len(messages) < 5:
            monitor.io.call(_call(monitor.task_events.ended, job, release))

    job = RunningJob(Claim("resp_1", "1", "alpha#1.0", b"{}", 0, 1), SimpleNamespace())  # type: ignore[arg-type]
    release = Release("resp_1", "1", Status.COMPLETED)
    monkeypatch.setattr(task_events, "_publish", publish)
    monkeypatch.setattr(task_events, "DELAY_S", 60.0)
    monitor.io.call(_call(monitor.task_events.began, job))
    monitor.task_events.flush()
    assert [event["type"] for event in messages[0]] == ["task-received", "task-started"]
    assert len(messages) == 1
    monitor.task_events.flush()
    assert [event["type"] for event in messages[1]] == ["task-succeeded"]


@pytest.mark.parametrize("groups", [{"worker"}, {"worker", "task"}, set()])
def test_events_are_not_collected_while_no_monitor_wants_them(
    monitor: Monitor, monkeypatch: pytest.MonkeyPatch, groups: set[str]
) -> None:
    monkeypatch.setattr(task_events, "DELAY_S", 60.0)
    monitor.dispatcher.groups = groups
    monitor.io.call(_call(monitor.task_events.began, monitor.began("resp_1")))
    assert bool(monitor.task_events._waiting) is (groups != {"worker"})


def test_events_are_not_collected_while_the_broker_is_not_connected(monitor: Monitor) -> None:
    monitor.task_events.consumer = SimpleNamespace(event_dispatcher=None)
    monitor.io.call(_call(monitor.task_events.began, monitor.began("resp_1")))
    assert not monitor.task_events._waiting


def test_the_running_jobs_are_active_tasks_of_celery(
    monkeypatch: pytest.MonkeyPatch, monitor: Monitor
) -> None:
    for name in ("data", "meta"):
        monkeypatch.setattr(Panel, name, dict(getattr(Panel, name)))
    monkeypatch.setattr(state, "total_count", Counter())
    job = monitor.began("resp_1")
    wait_until(lambda: monitor.task_events.began_count == 1)
    executor: Any = SimpleNamespace(running={"resp_1": job}, task_events=monitor.task_events)
    celery_steps.ShownJobs(executor, HOST).extend_commands()
    panel = SimpleNamespace(
        tset=set, consumer=SimpleNamespace(controller=SimpleNamespace(stats=lambda: dict(state.total_count)))
    )
    (task,) = Panel.data["dump_active"](panel)
    assert (task["id"], task["name"], task["hostname"]) == ("resp_1", GENERATE, HOST)
    assert task["time_start"] == job.began_at
    assert len(state.active_requests) == 1, "the heartbeats count them"
    assert Panel.data["stats"](panel) == {GENERATE: 1}
    executor.running.clear()
    assert Panel.data["active"](panel) == []
    assert len(state.active_requests) == 0


async def _call(call: Any, *arguments: Any) -> None:
    call(*arguments)
