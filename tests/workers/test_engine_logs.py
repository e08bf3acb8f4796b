"""Workers send what their engines print to Redis, with real engine processes."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from config.settings import ModelDefinition, Settings
from engines.engine_process.process import MAX_LOG_BYTES
from fleet.engine_log import LogLine
from fleet.load_request import LoadRequest
from store.errors import StorageUnavailable
from tests.support.worker_harness import WorkerHarness
from workers.engine_log_shipper import LINES_PER_S, MAX_LINES

MAX_KEPT = 2000
HOSTILE = "\x1b[31m<img src=x onerror=alert(1)>\x1b[0m\x07 \x00end"
MODELS = {
    "alpha": {"stub_print": "loading the weights\nkey sk-stoker-abcdefgh"},
    "broken": {
        "stub_print": f"first line\n{HOSTILE}\nRuntimeError: no weights",
        "stub_load_fail": "no weights",
    },
    "crashing": {"stub_print": "before the crash", "stub_load_crash": True},
    "leaky": {"stub_load_fail": "the hub refused --hf-token hf_abcdefghijkl and sk-stoker-abcdefgh"},
    "endless": {"stub_print_endlessly": True},
}


@pytest.fixture
def worker(settings: Settings) -> Iterator[WorkerHarness]:
    models: dict[str, ModelDefinition] = {
        name: ModelDefinition(name, "stub", options=options) for name, options in MODELS.items()
    }
    models["remote"] = ModelDefinition(
        "remote", "openai_remote", options={"openai_remote_url": "http://127.0.0.1:9/v1"}
    )
    made = WorkerHarness(replace(settings, models=models))
    yield made
    made.close()


def log_of(worker: WorkerHarness, model: str, **filters: Any) -> list[LogLine]:
    return list(worker.fleet.engine_logs.read(model, MAX_KEPT, **filters).lines)


def texts(worker: WorkerHarness, model: str) -> list[str]:
    return [line.text for line in log_of(worker, model)]


def fail_load(worker: WorkerHarness, model: str) -> str:
    """Load a model that fails; returns the operation's id."""
    outcome = worker.fleet.load(model, LoadRequest(1))
    worker.until(lambda: worker.fleet.row(model).state == "failed")
    assert outcome.operation is not None
    return outcome.operation.id


def test_a_line_is_sent_with_its_replica_its_worker_and_its_load(worker: WorkerHarness) -> None:
    worker.load("alpha")
    worker.executor.replicas.logs.ship()
    first, second = log_of(worker, "alpha")
    assert (first.text, second.text) == ("loading the weights", "key sk-...")
    (replica,) = worker.executor.replicas.by_name
    origin = first.origin
    operation = worker.fleet.row("alpha").operation_id
    assert (origin.replica, origin.worker, origin.operation) == (replica, "w1", operation)
    before, now_us = first.at, worker.client.time()
    assert 0 <= now_us[0] + now_us[1] / 1e6 - before < 60


def test_the_output_of_a_running_engine_is_sent_once(worker: WorkerHarness) -> None:
    worker.load("alpha")
    worker.executor.replicas.logs.ship()
    worker.end(worker.start_job("/stub print=2 tokens=1 a new line"))
    for _ in range(3):
        worker.executor.replicas.logs.ship()
    assert texts(worker, "alpha")[2:] == ["a new line", "a new line"]


@pytest.mark.parametrize("model", ["broken", "crashing"])
def test_the_log_of_a_failed_load_is_there_when_its_failure_is(worker: WorkerHarness, model: str) -> None:
    operation = fail_load(worker, model)
    shutil.rmtree(worker.settings.data_dir / "engines")
    assert texts(worker, model)[0] in ("first line", "before the crash")
    assert {line.origin.operation for line in log_of(worker, model)} == {operation}


def test_lines_of_a_failed_load_have_no_control_characters(worker: WorkerHarness) -> None:
    fail_load(worker, "broken")
    assert texts(worker, "broken") == [
        "first line",
        "<img src=x onerror=alert(1)> end",
        "RuntimeError: no weights",
    ]


def test_the_error_of_a_failed_load_has_no_secret(
    worker: WorkerHarness, caplog: pytest.LogCaptureFixture
) -> None:
    fail_load(worker, "leaky")
    error = worker.fleet.row("leaky").last_error or ""
    assert "the hub refused --hf-token *** and sk-..." in error
    assert "abcdefgh" not in error + caplog.text


def test_the_lines_of_two_loads_are_separated_by_their_operations(worker: WorkerHarness) -> None:
    first, second = fail_load(worker, "broken"), fail_load(worker, "broken")
    assert len(log_of(worker, "broken")) == 6
    assert len(log_of(worker, "broken", operation=first)) == 3
    assert {line.origin.operation for line in log_of(worker, "broken", operation=second)} == {second}


def test_the_last_output_is_sent_when_the_model_is_unloaded(worker: WorkerHarness) -> None:
    worker.load("alpha")
    worker.end(worker.start_job("/stub print=1 tokens=1 goodbye"))
    worker.fleet.unload("alpha")
    worker.until(lambda: worker.fleet.row("alpha").state == "unloaded")
    assert texts(worker, "alpha")[-1] == "goodbye"


def test_the_last_output_is_sent_when_an_engine_dies(worker: WorkerHarness) -> None:
    worker.load("alpha")
    worker.admit("/stub print=1 crash_after=1 the cause")
    worker.until(lambda: "the cause" in texts(worker, "alpha"))


def test_the_last_output_is_sent_when_the_worker_ends(worker: WorkerHarness) -> None:
    worker.load("alpha")
    worker.executor.replicas.stop_all(1.0)
    assert texts(worker, "alpha") == ["loading the weights", "key sk-..."]


def test_a_remote_engine_has_no_log(worker: WorkerHarness) -> None:
    worker.fleet.load("remote", LoadRequest(1))
    worker.until(lambda: worker.fleet.row("remote").state in ("loaded", "failed"))
    worker.executor.replicas.logs.ship()
    assert log_of(worker, "remote") == []
    assert not worker.fleet.engine_logs.has("remote")


def test_lines_wait_while_redis_is_away_and_are_sent_once(
    worker: WorkerHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker.load("alpha")
    logs, calls = worker.executor.replicas.logs, []
    append = worker.fleet.engine_logs.append

    def lose_the_answer(*arguments: Any) -> None:
        calls.append(arguments)
        append(*arguments)
        raise StorageUnavailable("gone", retry_after_s=1)

    with monkeypatch.context() as patch:
        patch.setattr(worker.fleet.engine_logs, "append", lose_the_answer)
        logs.ship()
        logs.ship()
    logs.ship()
    assert [call[0] for call in calls] == [calls[0][0]] * 2, "the same call is repeated"
    assert texts(worker, "alpha") == ["loading the weights", "key sk-..."]


def test_an_engine_that_prints_without_end_takes_a_bounded_part_of_redis_and_its_jobs_end(
    worker: WorkerHarness,
) -> None:
    worker.load("endless")
    logs = worker.executor.replicas.logs
    now = [0.0]
    logs._clock = lambda: now[0]
    (followed,) = logs._followed.values()
    followed._counted_at = 0.0
    sent_before = worker.client.info("commandstats").get("cmdstat_xadd", {}).get("calls", 0)
    jobs = [worker.start_job(f"/stub tokens=5 {number}", "endless") for number in range(20)]
    sent = 0
    for _ in range(40):
        now[0] += 1.0
        logs.ship()
        sent = len(log_of(worker, "endless"))
    assert {worker.end(job).status for job in jobs} == {"completed"}
    lines = log_of(worker, "endless")
    assert 0 < sent <= MAX_KEPT
    assert len(lines) == sent
    appended = worker.client.info("commandstats")["cmdstat_xadd"]["calls"] - sent_before
    remarks_and_jobs = 40 + 20 * 8
    assert appended <= MAX_LINES + 40 * LINES_PER_S + remarks_and_jobs
    assert sum(line.omitted_bytes for line in lines) > 0, "what was left out is counted"
    key = f"{{{worker.settings.redis.prefix}}}:engine_log:endless"
    assert worker.client.memory_usage(key) < 1_000_000  # type: ignore[operator]
    assert 0 < worker.client.ttl(key) <= 86_400
    (folder,) = (worker.settings.data_dir / "engines" / "w1").iterdir()
    path = folder / "engine.log"
    worker.until(lambda: path.stat().st_size < MAX_LOG_BYTES, 30)
