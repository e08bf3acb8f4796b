"""The worker's event loop, and the end of a worker whose loop hangs."""

from __future__ import annotations

import asyncio
import logging
import threading

import pytest

from config.settings import LeaseSettings, Settings
from tests.support.waiting import scaled, wait_until
from tests.support.worker_harness import WorkerHarness
from workers.agent import EX_TEMPFAIL, WorkerAgent
from workers.io_loop import IoLoop


def test_a_coroutine_runs_on_the_loops_thread(io: IoLoop) -> None:
    async def name() -> str:
        return threading.current_thread().name

    assert io.call(name()) == "io-loop"


def test_the_end_of_the_loop_cancels_what_runs_on_it() -> None:
    io = IoLoop()
    io.start()
    cancelled = threading.Event()

    async def wait() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    io.spawn(wait())
    io.call(asyncio.sleep(0))
    io.stop()
    assert cancelled.is_set()


def test_the_end_of_the_loop_cancels_a_task_again_that_lost_its_first_cancellation() -> None:
    io = IoLoop()
    io.start()
    cancellations: list[str] = []

    async def lose_the_first_cancellation() -> None:
        for name in ("first", "second"):
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                cancellations.append(name)

    io.spawn(lose_the_first_cancellation())
    io.call(asyncio.sleep(0))
    ending = threading.Thread(target=io.stop, daemon=True)
    ending.start()
    ending.join(scaled(10))
    assert cancellations == ["first", "second"]
    assert not ending.is_alive()


def test_the_failure_of_a_part_is_logged(io: IoLoop, caplog: pytest.LogCaptureFixture) -> None:
    async def fail() -> None:
        raise RuntimeError("broken part")

    io.spawn(fail())
    wait_until(lambda: "broken part" in caplog.text)


def test_the_silence_of_a_loop_that_runs_is_zero_and_of_one_that_hangs_grows(io: IoLoop) -> None:
    go_on = threading.Event()
    assert io.silence_s() == 0
    io.call(asyncio.sleep(0))
    assert io.silence_s() == 0
    io.loop.call_soon_threadsafe(go_on.wait, 10)
    io.silence_s()
    wait_until(lambda: io.silence_s() > 0.05)
    go_on.set()
    wait_until(lambda: io.silence_s() == 0)


def test_a_worker_whose_loop_hangs_ends_so_that_a_fresh_one_starts(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("workers.agent.LOOP_SILENCE_S", 0.1)
    exits: list[int] = []
    monkeypatch.setattr("workers.agent.os._exit", exits.append)
    monkeypatch.setattr(LeaseSettings, "heartbeat_ms", 20)
    worker = WorkerHarness(settings)
    agent = WorkerAgent(worker.executor, worker.ledger, worker.fleet, worker.io)
    go_on = threading.Event()
    with caplog.at_level(logging.ERROR, "workers"):
        agent.start()
        worker.io.loop.call_soon_threadsafe(go_on.wait, 10)
        wait_until(lambda: exits)
    go_on.set()
    agent.end()
    worker.close()
    assert set(exits) == {EX_TEMPFAIL}
    assert "the event loop of worker w1 hangs" in caplog.text
