"""An engine with a stalled job is probed with one token: it is lost when it hangs, not when it is slow."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from config.load import load_settings
from config.settings import LimitSettings, ModelDefinition, RestartSettings, Settings
from generation.generation import Generation, Message, text_content
from tests.checkpoints.fixtures import DEMO_MODEL
from tests.support.freezing import freeze
from tests.support.waiting import scaled, wait_until
from tests.support.worker_harness import WorkerHarness
from workers import running_job as module
from workers.stall_detector import one_token_like

MakeWorker = Callable[..., WorkerHarness]
GGUF = {"model_path": str(DEMO_MODEL), "options": {"llama_server_n_ctx": 1024, "llama_server_threads": 1}}


@pytest.fixture
def make_worker(settings: Settings) -> Iterator[MakeWorker]:
    """A worker with one model loaded."""
    made: list[WorkerHarness] = []

    def make(limits: LimitSettings, backend: str = "stub", **fields: Any) -> WorkerHarness:
        models = {"alpha": ModelDefinition("alpha", backend, target_inflight=4, **fields)}
        folder = load_settings().runtimes_dir
        changes = {"limits": limits, "models": models, "runtimes_dir": folder}
        # requests without output do not wait for a restart
        worker = WorkerHarness(replace(settings, restart=RestartSettings(max_restarts=0), **changes))
        made.append(worker)
        worker.load()
        return worker

    yield make
    for worker in made:
        worker.close()


def set_limits(worker: WorkerHarness, **limits: float) -> None:
    """Change the limits of the stall detector: short ones hold only while an engine hangs."""
    worker.executor.stall_detector._limits = LimitSettings(**limits)  # type: ignore[arg-type]


def freeze_engine(worker: WorkerHarness) -> None:
    (entry,) = worker.executor.replicas.by_name.values()
    assert entry.engine
    assert entry.engine.pid
    freeze(entry.engine.pid)


def test_a_probe_asks_for_a_token_and_not_for_the_progress_of_its_prompt() -> None:
    messages = (Message("user", text_content("Hi")),)
    probe = one_token_like(Generation("alpha", messages, reports_progress=True, truncate=True))
    assert probe.sampling.max_tokens == 1
    assert not probe.reports_progress


def test_an_engine_that_hangs_while_its_server_still_responds_is_lost(make_worker: MakeWorker) -> None:
    worker = make_worker(LimitSettings(), "llama_server", **GGUF)
    assert worker.end(worker.start_job("What is the capital of Norway?")).status == "completed"
    freeze_engine(worker)
    set_limits(worker, first_event_timeout_s=0.3, probe_timeout_s=0.5)
    ends = [worker.end(id) for id in [worker.start_job("What is the capital of Norway?") for _ in range(3)]]
    assert [(end.status, end.code) for end in ends] == [("failed", "engine_stalled")] * 3
    worker.until(lambda: worker.fleet.row("alpha").state == "failed")
    assert "no longer computes" in (worker.fleet.row("alpha").last_error or "")
    wait_until(lambda: worker.executor.replicas.by_name == {})
    set_limits(worker)
    worker.load()
    assert worker.end(worker.start_job("What is the capital of Norway?")).status == "completed"


def test_a_cancellation_after_a_long_silence_causes_a_probe(
    make_worker: MakeWorker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "SUSPECT_AFTER_S", 3600.0)
    worker = make_worker(LimitSettings(probe_timeout_s=0.5), "llama_server", **GGUF)
    freeze_engine(worker)
    early, late = worker.start_job("Count to one hundred."), worker.start_job("Count to one hundred.")
    worker.ledger.cancel(early, "acme")
    worker.on_loop(worker.executor.cancel_job, early)
    assert worker.end(early).status == "cancelled"
    assert worker.fleet.row("alpha").state == "loaded"  # its silence was short
    monkeypatch.setattr(module, "SUSPECT_AFTER_S", 0.2)
    running = worker.executor.running[late]
    worker.until(lambda: time.monotonic() - running.last_activity > 0.25)
    worker.ledger.cancel(late, "acme")
    assert worker.end(late).status == "cancelled"
    worker.until(lambda: worker.fleet.row("alpha").state == "failed")


def test_an_engine_that_answers_the_probe_stays_loaded(make_worker: MakeWorker) -> None:
    worker = make_worker(LimitSettings(idle_timeout_s=0.2, probe_timeout_s=scaled(5)))
    end = worker.end(worker.start_job("/stub tokens=10 stall_after=2"))
    assert (end.status, end.code) == ("failed", "engine_stalled")
    set_limits(worker)
    assert worker.end(worker.start_job("/stub tokens=3")).status == "completed"
    assert worker.fleet.row("alpha").state == "loaded"


@pytest.mark.parametrize(("busy", "state"), [(True, "loaded"), (False, "failed")])
def test_an_engine_that_is_slow_to_answer_the_probe_stays_while_other_jobs_get_output(
    make_worker: MakeWorker, busy: bool, state: str
) -> None:
    limits = LimitSettings(idle_timeout_s=0.4, probe_timeout_s=0.4)
    worker = make_worker(limits, options={"stub_first_token_s": 5.0})
    if busy:
        worker.start_job("/stub first_token_s=0 tokens=1000 tokens_per_s=50")
    end = worker.end(worker.start_job("/stub first_token_s=0 tokens=10 stall_after=2"))
    assert (end.status, end.code) == ("failed", "engine_stalled")
    worker.until(lambda: worker.fleet.row("alpha").state == state)
