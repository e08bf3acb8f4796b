"""How Flower is set up: its log, and what it does with many events."""

from __future__ import annotations

import logging
from collections.abc import Callable

import pytest
from celery.events.state import State

from stoker.flower import BatchedEvents, EventHeap, set_up_logging
from telemetry.record_limit import RECORDS_OF_A_KIND

WEB_LOGGERS = ("tornado.access", "tornado.application", "tornado.general")


@pytest.fixture
def restored_logging():
    root = logging.getLogger()
    before = (root.handlers[:], root.level)
    yield
    root.handlers[:], root.level = before


@pytest.mark.usefixtures("restored_logging")
@pytest.mark.parametrize("name", WEB_LOGGERS)
def test_the_log_of_refused_requests_is_bounded(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    set_up_logging()
    for _ in range(500):
        logging.getLogger(name).warning("401 GET %s", "/" + "x" * 8000)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == RECORDS_OF_A_KIND
    assert max(map(len, lines)) < 400


def test_the_latest_events_stay_in_order_when_old_ones_are_removed_in_groups() -> None:
    heap = EventHeap()
    state = State(max_tasks_in_memory=10, taskheap=heap)
    lengths = set()
    for number in range(200):
        state.event(
            {"type": "task-sent", "uuid": f"t{number}", "hostname": "w", "clock": number, "timestamp": 1.0}
            | {"local_received": 1.0, "utcoffset": 0, "pid": 1, "name": "x"}
        )
        lengths.add(len(heap))
    assert max(lengths) == 10 * State.heap_multiplier
    assert list(heap) == sorted(heap)
    assert [id for id, _ in state.tasks_by_time(limit=3)] == ["t199", "t198", "t197"]
    assert heap.pop() not in heap


class RecordingState:
    """Fails at one event."""

    def __init__(self) -> None:
        self.taken: list[int] = []

    def event(self, event: dict[str, int]) -> None:
        if event["number"] == 1:
            raise KeyError("uuid")
        self.taken.append(event["number"])


class RecordingLoop:
    """Keeps the callbacks."""

    def __init__(self) -> None:
        self.callbacks: list[Callable[[], None]] = []

    def add_callback(self, callback: Callable[[], None]) -> None:
        self.callbacks.append(callback)


def test_events_that_arrive_together_are_taken_in_one_callback_and_one_that_fails_stops_no_other() -> None:
    loop, state = RecordingLoop(), RecordingState()
    events = BatchedEvents.__new__(BatchedEvents)
    events.io_loop, events.state = loop, state
    events.begin()
    for number in range(3):
        events.on_event({"number": number})
    assert len(loop.callbacks) == 1
    loop.callbacks.pop()()
    assert state.taken == [0, 2]
    events.on_event({"number": 3})
    loop.callbacks.pop()()
    assert state.taken == [0, 2, 3]
