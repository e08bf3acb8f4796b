"""The behaviour that is required of adapters whose engine is a process on the worker's machine."""

from __future__ import annotations

import asyncio
import os
import select
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from backends.base import CancellationToken, HasFacts, LoadError
from config.settings import ROOT
from engines.engine_process.errors import EngineLost
from engines.engine_process.process import EngineProcess
from tests.backends.conftest import Launched, Start, has_ended
from tests.backends.contract import SOON_S, EngineContract
from tests.support.freezing import freeze
from tests.support.generations import engine_loop
from tests.support.process_groups import group_is_gone
from tests.support.waiting import scaled

LONE_WORKER = Path(__file__).with_name("lone_worker.py")


class LocalEngineContract(EngineContract):
    """The requirements for engines that are a process on the worker's machine."""

    reports_cache_use = False
    reports_cache_size = False
    cache_unit: str | None = None
    """The unit in which it reports how much its prefix cache keeps; None: it does not."""

    # loading

    @pytest.mark.parametrize("moment", ["before its process", "after its process", "while it loads"])
    def test_a_load_can_be_cancelled_in_each_phase(
        self, start: Start, monkeypatch: pytest.MonkeyPatch, moment: str
    ) -> None:
        begin = EngineProcess.start
        started: list[EngineProcess] = []
        cancellation = CancellationToken()

        def cancel(*_: object) -> None:
            cancellation.cancel()

        def begin_and_cancel(*arguments: object, **named: object) -> EngineProcess:
            if moment == "before its process":
                cancel()
            started.append(begin(*arguments, **named))
            if moment == "after its process":
                cancel()
            return started[-1]

        monkeypatch.setattr(EngineProcess, "start", begin_and_cancel)
        progress = cancel if moment == "while it loads" else lambda *_: None
        with pytest.raises(LoadError) as caught:
            start(self.model(), progress=progress, cancellation=cancellation)
        assert caught.value.code == "load_cancelled"
        assert all(group_is_gone(process.pid) for process in started)

    def test_a_load_that_was_cancelled_before_it_started_starts_no_process(
        self, start: Start, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        started: list[object] = []
        monkeypatch.setattr(EngineProcess, "start", lambda *arguments, **_named: started.append(arguments))
        cancellation = CancellationToken()
        cancellation.cancel()
        with pytest.raises(LoadError) as caught:
            start(self.model(), cancellation=cancellation)
        assert (caught.value.code, started) == ("load_cancelled", [])

    def test_a_cancellation_after_the_load_leaves_the_engine_running(self, start: Start) -> None:
        cancellation = CancellationToken()
        launched = start(self.model(), cancellation=cancellation)
        cancellation.cancel()
        assert launched.answer(self.short()).text

    def test_a_load_that_takes_too_long_leaves_no_process(
        self, start: Start, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        begin = EngineProcess.start
        started: list[EngineProcess] = []
        monkeypatch.setattr(
            EngineProcess, "start", lambda *a, **n: started.append(begin(*a, **n)) or started[-1]
        )
        with pytest.raises(LoadError) as caught:
            start(self.model(load_timeout_s=0.001))
        assert caught.value.code == "load_timeout"
        assert all(group_is_gone(process.pid) for process in started)

    # what it reports about itself

    def test_the_engine_reports_its_version(self, shared: Launched) -> None:
        assert isinstance(shared.engine, HasFacts)
        installed = self.version().partition("+")[0]  # without the name of the build
        assert shared.engine.facts.version == (installed or shared.engine.facts.version)

    def test_the_use_of_the_cache_is_measured_where_the_runtime_reports_it(self, shared: Launched) -> None:
        shared.answer(self.short())
        assert isinstance(shared.engine, HasFacts)
        use, deadline = None, time.monotonic() + scaled(SOON_S)
        while use is None and self.reports_cache_use and time.monotonic() < deadline:
            use = asyncio.run_coroutine_threadsafe(shared.engine.cache_use(), engine_loop()).result(
                scaled(SOON_S)
            )
        assert (use is not None) == self.reports_cache_use
        assert use is None or 0 <= use < 0.5
        size, reported = shared.engine.facts.kv_cache_mib, self.reports_cache_size
        assert (size is not None and size > 0.1) if reported else size is None

    def test_the_engine_reports_how_much_its_prefix_cache_keeps(self, shared: Launched) -> None:
        assert isinstance(shared.engine, HasFacts)
        facts = shared.engine.facts
        assert facts.cache_unit == self.cache_unit
        assert (facts.cache_capacity or 0) >= (0 if self.cache_unit is None else shared.engine.slots)

    # the end of an engine

    def test_a_killed_engine_is_lost_with_its_signal(self, start: Start) -> None:
        launched = start(self.model())
        running = [launched.begin(self.long(), id=f"lost-{i}") for i in range(2)]
        for answer, _ in running:
            assert answer.first_delta.wait(scaled(10))
        os.kill(launched.engine.pid, signal.SIGKILL)
        for answer, thread in running:
            thread.join(scaled(SOON_S))
            assert isinstance(answer.error, EngineLost)
            assert answer.error.code == "engine_crashed"
            assert "killed by SIGKILL" in str(answer.error)
        ended = launched.exits.get(timeout=scaled(SOON_S))
        assert (ended.signal, ended.expected) == (signal.SIGKILL, False)
        with pytest.raises(EngineLost, match="killed by SIGKILL"):
            launched.answer(self.short())

    def test_an_engine_that_hangs_can_be_stopped_and_releases_its_callers(self, start: Start) -> None:
        launched = start(self.model())
        answer, thread = launched.begin(self.long())
        assert answer.first_delta.wait(scaled(10))
        freeze(launched.engine.pid)
        launched.cancel("only")
        launched.engine.stop(0.2)
        thread.join(scaled(SOON_S))
        assert not thread.is_alive()
        assert group_is_gone(launched.engine.pid)

    def test_an_engine_dies_with_its_guard(self, start: Start) -> None:
        launched = start(self.model())
        os.kill(parent_of(launched.engine.pid), signal.SIGKILL)
        assert has_ended(launched.engine.pid, scaled(SOON_S))
        assert launched.exits.get(timeout=scaled(SOON_S)).expected is False

    def test_an_engine_dies_with_its_worker(self, tmp_path: Path) -> None:
        fields = {name: getattr(self.model(), name) for name in ("backend", "model_path", "options")}
        worker = subprocess.Popen(
            [sys.executable, LONE_WORKER, tmp_path, repr(fields)], cwd=ROOT, stdout=subprocess.PIPE, text=True
        )
        assert worker.stdout is not None
        with worker, worker.stdout:
            assert select.select([worker.stdout], [], [], scaled(self.load_s))[0]
            engine = int(worker.stdout.readline())
            worker.kill()
            assert has_ended(engine, scaled(SOON_S))

    def test_a_stop_is_expected_and_leaves_no_process(self, start: Start) -> None:
        launched = start(self.model())
        threads = [threading.Thread(target=launched.engine.stop, args=(5.0,)) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert group_is_gone(launched.engine.pid)
        assert launched.exits.get(timeout=scaled(SOON_S)).expected is True
        launched.engine.stop(5.0)
        assert launched.exits.empty()


def parent_of(pid: int) -> int:
    """Return the pid of the parent, from the fields after the command's name in parentheses."""
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
