"""How Flower is set up: its log, and what it does with many events."""

from __future__ import annotations

import logging
from collections.abc import Callable
from itertools import count
from typing import Any

import flower.events
import flower.options
import pytest
from celery.events.state import State
from hypothesis import given
from hypothesis import strategies as st

from stoker.flower import BatchedEvents, EventHeap, EventsState, set_up_logging
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
        self.indexed: list[int] = []

    def event(self, event: dict[str, int]) -> None:
        if event["number"] == 1:
            raise KeyError("uuid")
        self.taken.append(event["number"])

    def index_changes(self) -> None:
        self.indexed = list(self.taken)


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
    assert state.taken == state.indexed == [0, 2]
    events.on_event({"number": 3})
    loop.callbacks.pop()()
    assert state.taken == state.indexed == [0, 2, 3]


def task_event(kind: str, number: int, clock: int) -> dict[str, Any]:
    event = {"type": f"task-{kind}", "uuid": f"t{number}", "hostname": "w", "clock": clock, "pid": 1}
    event |= {"timestamp": float(clock), "local_received": float(clock), "utcoffset": 0}
    return event | ({"name": f"generate.{number % 2}"} if kind == "received" else {})


KINDS = st.sampled_from(("received", "started", "succeeded"))


@given(st.lists(st.lists(st.tuples(KINDS, st.integers(0, 5)), max_size=8)))
def test_the_search_finds_what_flowers_own_finds_after_each_batch(
    batches: list[list[tuple[str, int]]],
) -> None:
    state, own = EventsState(max_tasks_in_memory=3), flower.events.EventsState(max_tasks_in_memory=3)
    clock = count(1)
    for batch in batches:
        for kind, number in batch:
            event = task_event(kind, number, next(clock))
            state.event(dict(event))
            own.event(dict(event))
        state.index_changes()
        assert indexed(state) == indexed(own)


def indexed(state: flower.events.EventsState) -> tuple[dict[str, Any], dict[str, Any]]:
    """The documents of the search, and the ids under each of their values."""
    engine = state.search_engine
    documents = {
        id: {name: getattr(document, name) for name in document.__slots__}
        for id, document in engine.documents.items()
    }
    return documents, {field: dict(ids) for field, ids in engine.exact_postings.items()}
