"""Generations that lose their connection to a managed server."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from backends.base import GenerationError
from backends.shared.http_engine import HttpEngine, ServerClient, ServerProtocol
from backends.shared.server_address import ServerAddress
from engines.engine_process.errors import EngineError, EngineLost, Exit
from engines.engine_process.process import EngineProcess
from generation.generation import Generation, Message, text_content
from tests.support.generations import submit
from tests.support.waiting import scaled

COUNT = 20
UNUSED_PORT = 1
HI = Generation("alpha", (Message("user", text_content("Hi")),))


def refuse(_status: int, _body: bytes, _generation: Generation) -> GenerationError:
    return GenerationError("engine_error", "refused")


def ends(engine: HttpEngine) -> list[EngineError]:
    """The errors of `COUNT` generations that run at the same time."""
    sinks = [submit(engine, f"r{number}", HI) for number in range(COUNT)]
    found = [sink.outcomes.get(timeout=scaled(10)) for sink in sinks]
    return [outcome for outcome in found if isinstance(outcome, EngineError)]


def test_generations_that_are_lost_together_wait_in_one_thread_for_the_exit_of_their_engine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = EngineProcess.start(
        ["sleep", "60"], directory=tmp_path / "e", env={}, on_exit=lambda _exit: None
    )
    client = ServerClient(ServerAddress("127.0.0.1", UNUSED_PORT, "key"))
    engine = HttpEngine(process, client, ServerProtocol(lambda _: b"{}", refuse), COUNT, 64)
    waiting: set[int] = set()
    most = 0
    wait = process.wait

    def count_waits(timeout_s: float | None = None) -> Exit | None:
        nonlocal most
        thread = threading.get_ident()
        waiting.add(thread)
        most = max(most, len(waiting))
        exit = wait(timeout_s)
        waiting.remove(thread)
        return exit

    monkeypatch.setattr(process, "wait", count_waits)
    try:
        assert [error.code for error in ends(engine)] == ["engine_error"] * COUNT
        assert most == 1
        process.kill()
        wait(10)
        assert all(isinstance(error, EngineLost) for error in ends(engine))
    finally:
        engine.stop(0.0)
