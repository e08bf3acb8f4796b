"""A host with real stub engines and the real ledger; its heart is beaten by hand."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from dataclasses import replace

import pytest

from backends.base import Engine, Launch
from config.settings import LimitSettings, ModelDefinition, Settings
from fleet.load_request import LoadRequest
from streams.events import TextDelta
from tests.conftest import Server
from tests.support.worker_fixture import Seat


@pytest.fixture
def seat(settings: Settings) -> Iterator[Seat]:
    made = Seat(settings)
    yield made
    made.host.kill()


def test_a_job_whose_bell_was_lost_is_taken_at_a_heartbeat(seat: Seat) -> None:
    seat.load()
    id = seat.admit("/stub tokens=3")
    seat.ledger.scripts.offset_us = 2_000_000  # longer ago than a heartbeat
    assert seat.end(id).status == "completed"
    assert "".join(event.text for event in seat.said(id) if isinstance(event, TextDelta)) == "tok0 tok1 tok2"


def test_a_cancelled_request_stops_at_the_next_heartbeat_at_the_latest(seat: Seat) -> None:
    seat.load()
    id = seat.admit("/stub tokens=1000 tokens_per_s=20")
    seat.spawn(lambda: seat.host.generate(id))
    seat.until(lambda: seat.said(id))
    seat.ledger.cancel(id, "acme")
    assert seat.end(id).status == "cancelled"
    assert seat.host.running == {}


def test_an_engine_that_says_nothing_is_stopped_and_named(settings: Settings) -> None:
    seat = Seat(replace(settings, limits=LimitSettings(first_event_timeout_s=0.2, idle_timeout_s=0.2)))
    seat.load()
    id = seat.admit("/stub tokens=10 hang_after=2")
    seat.spawn(lambda: seat.host.generate(id))
    end = seat.end(id)
    assert (end.status, end.code) == ("failed", "engine_stalled")
    seat.host.kill()


def test_a_request_that_said_nothing_moves_to_the_other_replica_when_its_engine_dies(seat: Seat) -> None:
    seat.load(replicas=2)
    id = seat.admit("/stub tokens=4 first_token_s=0.5")
    seat.spawn(lambda: seat.host.generate(id))
    seat.until(lambda: id in seat.host.running)
    first = seat.host.running[id].replica
    engine = seat.host.replicas.table[first].engine
    assert engine
    os.kill(engine.pid, signal.SIGKILL)
    seat.until(lambda: first not in seat.host.replicas.table)
    seat.ledger.scripts.offset_us = 2_000_000
    assert seat.end(id).status == "completed"
    row = seat.fleet.row("alpha")
    assert (row.state, row.loaded_replicas) == ("loaded", 1)
    assert row.last_error
    assert "SIGKILL" in row.last_error


def test_a_prompt_that_kills_its_engine_is_not_tried_a_third_time(seat: Seat) -> None:
    seat.load(replicas=3)
    id = seat.admit("/stub tokens=4 crash_after=0")
    seat.ledger.scripts.offset_us = 2_000_000
    end = seat.end(id)
    assert (end.status, end.code) == ("failed", "engine_crashed")
    assert seat.fleet.row("alpha").loaded_replicas == 1


def test_what_is_said_while_redis_is_away_is_said_when_it_is_back(
    own_server: Server, settings: Settings
) -> None:
    seat = Seat(replace(settings, redis=replace(settings.redis, url=own_server.url)))
    seat.load()
    id = seat.admit("/stub tokens=30 tokens_per_s=60")
    seat.spawn(lambda: seat.host.generate(id))
    seat.until(lambda: seat.said(id))
    own_server.kill()
    seat.threads[-1].join(10)  # the engine ends while nobody can hear it
    own_server.start()
    assert seat.end(id).status == "completed"
    assert "".join(event.text for event in seat.said(id)[:-1]).split() == [f"tok{n}" for n in range(30)]
    seat.host.kill()


def test_a_load_that_fails_names_its_reason_and_frees_the_replica(settings: Settings) -> None:
    models = {"bad": ModelDefinition("bad", "stub", options={"stub_load_fail": "no such weights"})}
    seat = Seat(replace(settings, models=models))
    seat.fleet.load("bad", LoadRequest(1))
    seat.until(lambda: seat.fleet.row("bad").state == "failed")
    assert "no such weights" in (seat.fleet.row("bad").last_error or "")
    assert seat.host.replicas.table == {}
    assert seat.problems
    seat.host.kill()


def test_one_failed_replica_tears_down_the_others(settings: Settings) -> None:
    models = {
        "alpha": ModelDefinition("alpha", "stub", replica_max=2, options={"stub_load_s": 0.3}),
    }
    seat = Seat(replace(settings, models=models))
    change = seat.fleet.load("alpha", LoadRequest(2))
    seat.spawn(lambda: seat.host.load(change.assignments[0].replica))
    seat.fleet.replica_starting(change.assignments[1].replica, "w1", seat.host.incarnation)
    seat.fleet.replica_down(
        change.assignments[1].replica, "w1", seat.host.incarnation, code="load_failed", message="broken"
    )
    seat.until(lambda: not seat.client.smembers(f"{seat.fleet.scripts.prefix}replicas:alpha"))
    assert seat.host.replicas.table == {}
    assert seat.fleet.row("alpha").state == "failed"
    seat.load()  # and it can be loaded again
    seat.host.kill()


def test_a_shut_down_lets_what_runs_finish(seat: Seat) -> None:
    seat.load()
    id = seat.admit("/stub tokens=10 tokens_per_s=40")
    seat.spawn(lambda: seat.host.generate(id))
    seat.until(lambda: seat.said(id))
    seat.host.shut_down(10)
    assert seat.said(id)[-1].status == "completed"
    assert seat.fleet.row("alpha").state == "unloaded"
    assert seat.fleet.workers() == []


def test_a_shut_down_that_may_not_wait_says_so_to_the_client(seat: Seat) -> None:
    seat.load()
    id = seat.admit("/stub tokens=1000 tokens_per_s=20")
    seat.spawn(lambda: seat.host.generate(id))
    seat.until(lambda: seat.said(id))
    seat.host.shut_down(0)
    end = seat.said(id)[-1]
    assert (end.status, end.code) == ("failed", "worker_shutdown")


# ---- what a load asks for, and what it takes


def test_an_engine_is_started_with_what_the_load_overrides(seat: Seat) -> None:
    seat.fleet.begin("alpha", LoadRequest(override={"stub_tokens": 3}))
    seat.until(lambda: seat.fleet.row("alpha").state == "loaded")
    id = seat.admit("hello")
    seat.ledger.scripts.offset_us = 2_000_000
    assert seat.end(id).usage.output_tokens == 3


@pytest.mark.rule("load/notes")
def test_a_load_is_weighed_and_known_for_the_next_one(settings: Settings) -> None:
    models = {"big": ModelDefinition("big", "stub", options={"stub_memory_mib": 64})}
    seat = Seat(replace(settings, models=models))
    change = seat.fleet.load("big")
    seat.until(lambda: seat.fleet.row("big").state == "loaded")
    assert change.operation
    load = seat.fleet.operation(change.operation.id)
    assert load
    assert load.context_tokens == 4096
    took = load.memory_mib
    row = seat.fleet.row("big")
    assert took
    assert took >= 64
    assert (row.observed_mib, row.observed_replicas, row.observed_variant) == (took, 1, row.variant)
    seat.host.kill()


def test_whoever_waits_for_memory_hears_of_every_end(settings: Settings) -> None:
    models = {
        "good": ModelDefinition("good", "stub"),
        "bad": ModelDefinition("bad", "stub", options={"stub_load_fail": "no such weights"}),
    }
    seat = Seat(replace(settings, models=models))
    ends: list[str] = []
    seat.host.replicas.on_end = lambda: ends.append("end")
    seat.fleet.load("bad")
    seat.until(lambda: len(ends) == 1)
    seat.load("good")
    seat.fleet.unload("good")
    seat.until(lambda: len(ends) == 2)
    seat.load("good")
    (entry,) = seat.host.replicas.table.values()
    assert entry.engine
    os.kill(entry.engine.pid, signal.SIGKILL)
    seat.until(lambda: len(ends) == 3)
    seat.host.kill()


def test_an_unload_waits_for_what_runs_and_says_so_but_not_for_ever(settings: Settings) -> None:
    seat = Seat(replace(settings, limits=LimitSettings(unload_timeout_s=0.5)))
    seat.load()
    id = seat.admit("/stub tokens=1000 tokens_per_s=20")
    seat.spawn(lambda: seat.host.generate(id))
    seat.until(lambda: seat.said(id))
    change = seat.fleet.unload("alpha")
    assert change.operation
    unload = change.operation.id
    seat.until(lambda: getattr(seat.fleet.operation(unload), "stage", "") == "draining: 1 request runs")
    end = seat.end(id)
    assert (end.status, end.code) == ("failed", "unload_deadline")
    seat.until(lambda: seat.fleet.row("alpha").state == "unloaded")
    seat.host.kill()


def test_an_engine_that_does_not_hear_the_deadline_ends_with_it_all_the_same(settings: Settings) -> None:
    seat = Seat(replace(settings, limits=LimitSettings(unload_timeout_s=0.2)))
    seat.load()
    id = seat.admit("/stub tokens=1000 tokens_per_s=50 hang_after=2")
    seat.spawn(lambda: seat.host.generate(id))
    seat.until(lambda: seat.said(id))
    seat.fleet.unload("alpha")
    end = seat.end(id)
    assert (end.status, end.code) == ("failed", "unload_deadline")
    seat.until(lambda: seat.fleet.row("alpha").state == "unloaded")
    seat.host.kill()


# ---- whatever goes wrong, a replica does not stay on its way


class Odd:
    """A runtime whose start goes wrong in a way that nobody foresaw."""

    name = "stub"

    def start(self, _launch: Launch) -> Engine:
        raise OSError(24, "Too many open files")


def test_a_start_that_fails_in_an_unforeseen_way_is_reported_too(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workers.replicas.adapter", lambda _name: Odd())
    seat = Seat(settings)
    change = seat.fleet.load("alpha")
    seat.until(lambda: seat.fleet.row("alpha").state == "failed")
    row = seat.fleet.row("alpha")
    assert (row.code, row.workers) == ("load_failed", ())
    assert "Too many open files" in (row.last_error or "")
    assert change.operation
    assert getattr(seat.fleet.operation(change.operation.id), "status", "") == "failed"
    assert seat.host.replicas.table == {}
    seat.host.kill()


def test_an_unload_of_a_replica_that_still_starts_leaves_no_engine_behind(settings: Settings) -> None:
    models = {"alpha": ModelDefinition("alpha", "stub", replica_max=2, options={"stub_load_hang": True})}
    seat = Seat(replace(settings, models=models))
    other = seat.ledger.register("w2", f"{seat.ledger.scripts.prefix}bells", "@ID@", "cpu")
    seat.fleet.load("alpha", LoadRequest(2))
    (here,) = seat.until(lambda: list(seat.host.replicas.table))
    (there,) = (name for name in seat.ledger.heartbeat("w2", other).replicas)
    seat.fleet.replica_starting(there, "w2", other)
    seat.fleet.replica_down(there, "w2", other, code="load_failed", message="no")  # the sister is to stop
    assert seat.host.unload(here) == "given up"
    seat.until(lambda: seat.host.replicas.table == {})
    seat.until(lambda: seat.fleet.row("alpha").workers == ())
    assert seat.fleet.row("alpha").state == "failed"
    seat.host.kill()


def test_a_replica_that_is_being_taken_up_is_not_taken_up_again_by_each_heartbeat(
    seat: Seat, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = threading.Event()
    answer = threading.Event()

    def full(*_: object) -> None:
        asked.set()
        answer.wait(5)

    monkeypatch.setattr(seat.fleet, "replica_starting", full)
    first = threading.Thread(target=lambda: seat.host.load("alpha#1.0"), daemon=True)
    first.start()
    assert asked.wait(5)
    assert seat.host.load("alpha#1.0") == "already here"
    answer.set()
    first.join(5)
