"""Engines that are used over two pipes, beyond what the contract covers; the stub is one of them."""

from __future__ import annotations

import os
import signal
import time
from dataclasses import dataclass, field

import pytest

from backends.base import Engine, Finish, GenerationError
from backends.shared.pipe_engine import PipeEngine
from config.settings import ModelDefinition
from engines.engine_process.errors import EngineError, EngineLost
from streams.events import Delta
from tests.backends.conftest import Launched, Start, ask
from tests.support.freezing import freeze
from tests.support.generations import RecordingSink, engine_loop, on_loop, submit
from tests.support.waiting import scaled

STUB = ModelDefinition("model", "stub", load_timeout_s=scaled(5.0), options={"stub_context": 10_000_000})
LONGEST_TURN_S = 0.05  # CPU time of the event loop's thread
READ_S = scaled(5.0)


@pytest.fixture
def engine(start: Start) -> Launched:
    return start(STUB, slots=64)


@dataclass
class Turns:
    """Measures the CPU time of each turn of the event loop: a delay for all other engines."""

    longest_s: float = 0.0
    running: bool = True
    _before: float = field(default_factory=lambda: on_loop(time.thread_time))

    def start(self) -> None:
        engine_loop().call_soon_threadsafe(self._turn)

    def _turn(self) -> None:
        now = time.thread_time()
        self.longest_s = max(self.longest_s, now - self._before)
        self._before = now
        if self.running:
            engine_loop().call_soon(self._turn)


def test_a_lost_engine_fails_a_generation_before_submit_returns(engine: Launched) -> None:
    engine.engine.stop(1.0)
    submit(engine.engine, "waits for the end", ask("hi")).outcomes.get(timeout=READ_S)
    sink = RecordingSink(lambda _delta: None)

    def submit_and_look() -> int:
        engine.engine.submit("late", ask("hi"), sink)
        return sink.outcomes.qsize()

    assert on_loop(submit_and_look) == 1
    with pytest.raises(EngineLost):
        sink.result()


def test_a_request_that_cannot_be_encoded_fails_before_submit_returns(
    engine: Launched, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert isinstance(engine.engine, PipeEngine)
    sink = RecordingSink(lambda _delta: None)
    errors = iter([GenerationError("invalid_prompt", "no"), ZeroDivisionError()])

    def refuse(_generation: object) -> bytes:
        raise next(errors)

    monkeypatch.setattr(engine.engine, "_encode", refuse)

    def submit_and_look() -> int:
        engine.engine.submit("refused", ask("hi"), sink)
        engine.engine.submit("broken", ask("hi"), sink)
        return sink.outcomes.qsize()

    assert on_loop(submit_and_look) == 2
    codes = [sink.outcomes.get().code for _ in range(2)]  # type: ignore[union-attr]  # none is a finish
    assert codes == ["invalid_prompt", "engine_error"]


class ObstinateSink(RecordingSink):
    """Raises in its outcome, and submits another generation first."""

    def __init__(self, engine: Engine, following: RecordingSink) -> None:
        super().__init__(lambda _delta: None)
        self._engine = engine
        self._following = following

    def finish(self, _finish: Finish) -> None:
        self._engine.submit("following", ask("hi"), self._following)
        raise ZeroDivisionError

    def fail(self, _error: EngineError) -> None:
        raise ZeroDivisionError


def test_a_sink_may_submit_and_raise_in_its_outcome(engine: Launched) -> None:
    following = RecordingSink(lambda _delta: None)
    for request in (ask("hi"), ask("/stub error=unlucky")):
        sink = ObstinateSink(engine.engine, following)
        on_loop(engine.engine.submit, "obstinate", request, sink)
    assert following.result().reason == "stop"
    assert engine.answer(ask("hi")).text


def test_a_sink_that_raises_ends_its_generation_in_the_engine(start: Start) -> None:
    launched = start(STUB, slots=1)
    received: list[Delta] = []

    def fail_at_the_second(delta: Delta) -> None:
        received.append(delta)
        if len(received) == 2:
            raise ZeroDivisionError

    sink = submit(
        launched.engine, "raising", ask("/stub tokens=1000000 tokens_per_s=1000"), fail_at_the_second
    )
    with pytest.raises(GenerationError, match="the engine failed"):
        sink.result()
    assert launched.answer(ask("hi")).text, "its slot is free"
    assert (len(received), sink.outcomes.empty()) == (2, True)


def test_each_generation_has_one_outcome_when_its_engine_is_killed(engine: Launched) -> None:
    sinks = [submit(engine.engine, f"lost-{i}", ask("/stub tokens=100000")) for i in range(100)]
    assert engine.engine.pid is not None
    os.kill(engine.engine.pid, signal.SIGKILL)
    outcomes = [sink.outcomes.get(timeout=READ_S) for sink in sinks]
    assert any(isinstance(outcome, EngineLost) for outcome in outcomes)
    on_loop(lambda: None)
    assert all(sink.outcomes.empty() for sink in sinks)


def test_a_flood_of_one_engine_does_not_occupy_the_loop(engine: Launched) -> None:
    turns = Turns()
    turns.start()
    sinks = [submit(engine.engine, f"flood-{i}", ask("/stub tokens=4000")) for i in range(64)]
    for sink in sinks:
        sink.result()
    turns.running = False
    assert turns.longest_s < LONGEST_TURN_S


def test_an_engine_that_does_not_read_a_large_request_does_not_block_the_loop(engine: Launched) -> None:
    assert engine.engine.pid is not None
    freeze(engine.engine.pid)
    large = ask("x" * 20_000_000)
    sinks = [submit(engine.engine, f"large-{i}", large) for i in range(2)]
    turns = Turns()
    turns.start()
    engine.cancel("large-0")
    os.kill(engine.engine.pid, signal.SIGCONT)
    assert sinks[0].result().reason in ("cancelled", "stop")
    assert sinks[1].result().reason == "stop"
    turns.running = False
    assert turns.longest_s < LONGEST_TURN_S


def test_a_hung_engine_with_unsent_requests_can_be_stopped(engine: Launched) -> None:
    assert engine.engine.pid is not None
    freeze(engine.engine.pid)
    sinks = [submit(engine.engine, f"unsent-{i}", ask("x" * 1_000_000)) for i in range(5)]
    engine.cancel("unsent-0")
    engine.engine.stop(0.1)
    for sink in sinks:
        with pytest.raises(EngineLost):
            sink.result()
