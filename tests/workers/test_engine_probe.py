"""An engine in which a request stalled is asked for a token: who hangs is lost, who is only slow is not."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from config.load import load_settings
from config.settings import LimitSettings, ModelDefinition, Settings
from tests.checkpoints.fixtures import DEMO_MODEL
from tests.support.worker_fixture import Seat
from workers import executor as module

MakeSeat = Callable[..., Seat]
GGUF = {"model_path": str(DEMO_MODEL), "options": {"llama_server_n_ctx": 1024, "llama_server_threads": 1}}


@pytest.fixture
def make_seat(settings: Settings) -> Iterator[MakeSeat]:
    """A worker with one model loaded."""
    made: list[Seat] = []

    def make(limits: LimitSettings, backend: str = "stub", **fields: Any) -> Seat:
        models = {"alpha": ModelDefinition("alpha", backend, target_inflight=4, **fields)}
        folder = load_settings().runtimes_dir
        seat = Seat(replace(settings, limits=limits, models=models, runtimes_dir=folder))
        made.append(seat)
        seat.load()
        return seat

    yield make
    for seat in made:
        seat.host.kill()


def freeze(seat: Seat) -> None:
    (entry,) = seat.host.replicas.table.values()
    assert entry.engine
    assert entry.engine.pid
    os.kill(entry.engine.pid, signal.SIGSTOP)


def ask(seat: Seat, text: str) -> str:
    id = seat.admit(text)
    seat.spawn(lambda: seat.host.generate(id))
    seat.until(lambda: id in seat.host.running or not seat.threads[-1].is_alive())
    return id


def test_an_engine_that_hangs_behind_a_connection_that_does_not_is_lost(make_seat: MakeSeat) -> None:
    limits = LimitSettings(first_event_timeout_s=0.3, probe_timeout_s=0.5)
    seat = make_seat(limits, "llama_server", **GGUF)
    assert seat.end(ask(seat, "What is the capital of Norway?")).status == "completed"
    freeze(seat)
    ends = [seat.end(id) for id in [ask(seat, "What is the capital of Norway?") for _ in range(3)]]
    assert [(end.status, end.code) for end in ends] == [("failed", "engine_stalled")] * 3
    seat.until(lambda: seat.fleet.row("alpha").state == "failed")
    assert "computes no more" in (seat.fleet.row("alpha").last_error or "")
    assert seat.host.replicas.table == {}
    seat.load()
    assert seat.end(ask(seat, "What is the capital of Norway?")).status == "completed"


def test_a_client_that_hangs_up_after_a_silence_gives_reason_to_ask(
    make_seat: MakeSeat, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "DOUBT_S", 0.2)
    seat = make_seat(LimitSettings(probe_timeout_s=0.5), "llama_server", **GGUF)
    freeze(seat)
    early, late = ask(seat, "Count to one hundred."), ask(seat, "Count to one hundred.")
    seat.ledger.cancel(early, "acme")
    seat.host.stop_id(early, "cancelled")
    assert seat.end(early).status == "cancelled"
    assert seat.fleet.row("alpha").state == "loaded"  # it was not silent for long
    running = seat.host.running[late]
    seat.until(lambda: time.monotonic() - running.last_heard > 0.25)
    seat.ledger.cancel(late, "acme")
    assert seat.end(late).status == "cancelled"
    seat.until(lambda: seat.fleet.row("alpha").state == "failed")


def test_an_engine_that_answers_stays_whatever_became_of_the_request(make_seat: MakeSeat) -> None:
    seat = make_seat(LimitSettings(idle_timeout_s=0.2, probe_timeout_s=5))
    end = seat.end(ask(seat, "/stub tokens=10 stall_after=2"))
    assert (end.status, end.code) == ("failed", "engine_stalled")
    assert seat.end(ask(seat, "/stub tokens=3")).status == "completed"
    assert seat.fleet.row("alpha").state == "loaded"


@pytest.mark.parametrize(("busy", "state"), [(True, "loaded"), (False, "failed")])
def test_an_engine_that_is_slow_with_one_token_stays_while_it_speaks_to_others(
    make_seat: MakeSeat, busy: bool, state: str
) -> None:
    limits = LimitSettings(idle_timeout_s=0.4, probe_timeout_s=0.4)
    seat = make_seat(limits, options={"stub_first_token_s": 5.0})
    if busy:
        ask(seat, "/stub first_token_s=0 tokens=1000 tokens_per_s=50")
    end = seat.end(ask(seat, "/stub first_token_s=0 tokens=10 stall_after=2"))
    assert (end.status, end.code) == ("failed", "engine_stalled")
    seat.until(lambda: seat.fleet.row("alpha").state == state)
