"""The executor and its reconciler, with stub engines and the real ledger; the tests send the heartbeats."""

from __future__ import annotations

import os
import signal
import socket
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest

from backends.base import Engine, Launch
from backends.catalogue import BACKENDS
from config.settings import ROOT, LimitSettings, ModelDefinition, Settings
from fleet.load_request import LoadRequest
from generation.generation import Embedding, Generation, Message, Sampling, text_content
from scheduler.counters import CounterStore
from scheduler.job import Job
from streams.events import End, PromptProgress, TextDelta
from tests.conftest import ValkeyServer
from tests.support.freezing import freeze
from tests.support.waiting import scaled, wait_until
from tests.support.worker_harness import WorkerHarness
from workers.device_memory import DeviceMemoryReader
from workers.executor import _wrong_kind
from workers.replica import Replica


@pytest.fixture
def worker(settings: Settings) -> Iterator[WorkerHarness]:
    made = WorkerHarness(settings)
    yield made
    made.close()


def test_a_job_runs_when_its_claim_arrives(worker: WorkerHarness) -> None:
    worker.load()
    id = worker.admit("/stub tokens=3")
    wait_until(lambda: isinstance((worker.events(id) or [None])[-1], End))
    assert text_of(worker, id) == "tok0 tok1 tok2"


def text_of(worker: WorkerHarness, id: str) -> str:
    return "".join(event.text for event in worker.events(id) if isinstance(event, TextDelta))


def test_a_conversation_that_may_be_truncated_loses_its_oldest_turns(worker: WorkerHarness) -> None:
    worker.load()
    turns = [(Message("user", text_content(f"{i} " * 2000)), Message("assistant")) for i in range(4)]
    messages = (
        Message("system", text_content("Be brief.")),
        *(message for turn in turns for message in turn),
        Message("user", text_content("/stub echo_json")),
    )
    for truncate in (True, False):
        generation = Generation("alpha", messages, Sampling(max_tokens=None), truncate=truncate)
        id = f"resp_{truncate}"
        worker.ledger.admit(Job(id, "acme", "alpha", "test", generation.to_json(), b"{}"))
        end = worker.end(id)
        if truncate:
            used = Generation.from_json(text_of(worker, id)).messages
            assert [message.text[:9] for message in used] == ["Be brief.", "3 3 3 3 3", "", "/stub ech"]
            assert end.usage is not None
            assert end.usage.input_tokens == 2004
        else:
            assert (end.status, end.code) == ("failed", "context_length_exceeded")


def test_a_job_whose_claim_message_was_lost_runs_after_a_heartbeat(settings: Settings) -> None:
    worker = WorkerHarness(settings, intake=False)
    worker.load()
    id = worker.admit("/stub tokens=3")
    assert worker.end(id).status == "completed"
    assert text_of(worker, id) == "tok0 tok1 tok2"
    worker.close()


def test_a_cancelled_job_stops_at_the_next_heartbeat_at_the_latest(worker: WorkerHarness) -> None:
    worker.load()
    id = worker.admit("/stub tokens=1000 tokens_per_s=20")
    worker.until(lambda: worker.events(id))
    worker.ledger.cancel(id, "acme")
    assert worker.end(id).status == "cancelled"
    assert worker.executor.running == {}


def test_a_job_without_output_fails_as_stalled(settings: Settings) -> None:
    worker = WorkerHarness(
        replace(settings, limits=LimitSettings(first_event_timeout_s=0.2, idle_timeout_s=0.2))
    )
    worker.load()
    id = worker.admit("/stub tokens=10 hang_after=2")
    end = worker.end(id)
    assert (end.status, end.code) == ("failed", "engine_stalled")
    worker.close()


def test_a_job_without_output_moves_to_the_other_replica_when_its_engine_dies(
    worker: WorkerHarness,
) -> None:
    worker.load(replicas=2)
    engines = {name: replica.engine for name, replica in worker.executor.replicas.by_name.items()}
    for engine in engines.values():
        freeze(engine.pid)  # the job has no output before its end, however late that is
    id = worker.admit("/stub tokens=4")
    worker.until(lambda: id in worker.executor.running)
    first = worker.executor.running[id].replica
    os.kill(engines.pop(first).pid, signal.SIGKILL)
    for engine in engines.values():
        os.kill(engine.pid, signal.SIGCONT)
    worker.until(lambda: first not in worker.executor.replicas.by_name)
    assert worker.end(id).status == "completed"
    row = worker.fleet.row("alpha")
    assert (row.state, row.loaded_replicas) == ("loaded", 1)
    assert row.last_error
    assert "SIGKILL" in row.last_error


def test_a_job_that_has_only_read_its_prompt_moves_to_the_other_replica_when_its_engine_dies(
    worker: WorkerHarness,
) -> None:
    worker.load(replicas=2)
    # 2 s, in which its first engine is killed
    id = worker.admit("/stub tokens=4 first_token_s=2", reports_progress=True)
    worker.until(lambda: worker.events(id))
    first = worker.executor.running[id].replica
    engine = worker.executor.replicas.by_name[first].engine
    assert engine
    os.kill(engine.pid, signal.SIGKILL)
    end = worker.end(id)
    assert end.status == "completed"
    assert end.first_ms is not None
    assert end.first_ms >= 2000, "the progress of a prompt is no output"
    kinds = [type(event) for event in worker.events(id)]
    assert kinds == [PromptProgress, PromptProgress, PromptProgress, TextDelta, End]


def test_the_tokens_of_a_job_are_reported_while_it_runs_and_count_once(worker: WorkerHarness) -> None:
    def counted() -> tuple[int, int]:
        counters = CounterStore(worker.client, worker.settings).read()
        read, written = (counters.of_kind(f"processed_{kind}_tokens") for kind in ("input", "output"))
        return sum(count for _, count in read), sum(count for _, count in written)

    worker.load()
    worker.end(worker.admit("/stub tokens=1"))
    worker.heartbeat()
    once, _ = counted()
    id = worker.admit("/stub tokens=400 tokens_per_s=100")
    worker.until(lambda: counted()[1] > 20)
    assert worker.executor.running[id].stop_code is None, "it runs"
    assert once < counted()[0], "its prompt has been read"
    end = worker.end(id)
    worker.heartbeat()
    assert end.usage is not None
    computed = end.usage.input_tokens - end.usage.cached_tokens
    assert counted() == (once + computed, 1 + end.usage.output_tokens)
    assert not any(isinstance(event, PromptProgress) for event in worker.events(id))


def test_the_reasoning_of_a_running_job_ends_after_the_message_of_the_ledger(worker: WorkerHarness) -> None:
    worker.load()
    id = worker.admit("/stub thinking=100000 tokens=2 tokens_per_s=50", ends_reasoning=True)
    worker.until(lambda: worker.events(id))
    for message in (f"end_reasoning {id}", "end_reasoning resp_unknown"):
        worker.executor.loop.call_soon_threadsafe(worker.executor.on_message, message.encode())
    end = worker.end(id)
    assert end.status == "completed"
    assert end.usage
    assert end.usage.reasoning_tokens < 10_000
    assert "".join(one.text for one in worker.events(id) if isinstance(one, TextDelta)) == "tok0 tok1"


def test_a_prompt_that_kills_its_engine_is_not_tried_a_third_time(worker: WorkerHarness) -> None:
    worker.load(replicas=3)
    id = worker.admit("/stub tokens=4 crash_after=0")
    end = worker.end(id)
    assert (end.status, end.code) == ("failed", "engine_crashed")
    assert worker.fleet.row("alpha").loaded_replicas == 1


def test_output_produced_while_redis_is_unreachable_is_written_when_it_is_back(
    own_server: ValkeyServer, settings: Settings
) -> None:
    worker = WorkerHarness(replace(settings, redis=replace(settings.redis, url=own_server.url)))
    worker.load()
    id = worker.admit("/stub tokens=30 tokens_per_s=60")
    worker.until(lambda: worker.events(id))
    own_server.kill()
    wait_until(lambda: not worker.executor.running)  # the generation ends while Redis is unreachable
    own_server.start()
    assert worker.end(id).status == "completed"
    assert "".join(event.text for event in worker.events(id)[:-1]).split() == [f"tok{n}" for n in range(30)]
    worker.close()


def test_a_failed_load_reports_its_reason_and_removes_the_replica(settings: Settings) -> None:
    models = {"bad": ModelDefinition("bad", "stub", options={"stub_load_fail": "no such weights"})}
    worker = WorkerHarness(replace(settings, models=models))
    worker.fleet.load("bad", LoadRequest(1))
    worker.until(lambda: worker.fleet.row("bad").state == "failed")
    assert "no such weights" in (worker.fleet.row("bad").last_error or "")
    assert worker.executor.replicas.by_name == {}
    worker.until(lambda: worker.errors)  # the thread of the load raises after it has reported
    worker.close()


def test_one_replica_that_fails_to_load_stops_the_others(settings: Settings) -> None:
    models = {
        "alpha": ModelDefinition("alpha", "stub", replica_max=2, options={"stub_load_s": 0.3}),
    }
    worker = WorkerHarness(replace(settings, models=models))
    outcome = worker.fleet.load("alpha", LoadRequest(2))
    worker.spawn(lambda: worker.executor.load(outcome.assignments[0].replica))
    worker.fleet.replica_starting(outcome.assignments[1].replica, "w1", worker.executor.incarnation)
    worker.fleet.replica_down(
        outcome.assignments[1].replica,
        "w1",
        worker.executor.incarnation,
        code="load_failed",
        message="broken",
    )
    worker.until(lambda: not worker.client.smembers(f"{worker.fleet.scripts.prefix}replicas:alpha"))
    worker.until(lambda: worker.executor.replicas.by_name == {})
    assert worker.fleet.row("alpha").state == "failed"
    worker.load()  # and it can be loaded again
    worker.close()


def test_a_shut_down_lets_running_jobs_finish(worker: WorkerHarness) -> None:
    worker.load()
    id = worker.admit("/stub tokens=10 tokens_per_s=40")
    worker.until(lambda: worker.events(id))
    worker.executor.shut_down(10)
    assert worker.events(id)[-1].status == "completed"
    assert worker.fleet.row("alpha").state == "unloaded"
    assert worker.fleet.workers() == []


def test_a_shut_down_without_waiting_ends_jobs_with_its_own_code(worker: WorkerHarness) -> None:
    worker.load()
    id = worker.admit("/stub tokens=1000 tokens_per_s=20")
    worker.until(lambda: worker.events(id))
    worker.executor.shut_down(0)
    end = worker.events(id)[-1]
    assert (end.status, end.code) == ("failed", "worker_shutdown")


# ---- loads: overrides, measured memory, end


def test_an_engine_is_started_with_the_overrides_of_the_load(worker: WorkerHarness) -> None:
    worker.fleet.loads.begin("alpha", LoadRequest(override={"stub_tokens": 3}))
    worker.until(lambda: worker.fleet.row("alpha").state == "loaded")
    id = worker.admit("hello")
    assert worker.end(id).usage.output_tokens == 3


@pytest.mark.rule("load/notes")
def test_the_memory_of_a_load_is_measured_and_known_for_the_next_one(settings: Settings) -> None:
    models = {"big": ModelDefinition("big", "stub", options={"stub_memory_mib": 64})}
    worker = WorkerHarness(replace(settings, models=models))
    outcome = worker.fleet.load("big")
    worker.until(lambda: worker.fleet.row("big").state == "loaded")
    assert outcome.operation
    load = worker.fleet.operation(outcome.operation.id)
    assert load
    assert load.context_tokens == 4096
    took = load.memory_mib
    row = worker.fleet.row("big")
    assert took
    assert took >= 64
    assert (row.observed_mib, row.observed_replicas, row.observed_variant) == (took, 1, row.variant)
    worker.close()


@pytest.mark.rule("runner/unload")
def test_the_memory_that_an_unload_frees_is_measured_right_before_the_engine_ends(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    readings: list[tuple[int, bool, int | None]] = []
    read = DeviceMemoryReader.held_by

    def held_by(reader: DeviceMemoryReader, group: int) -> int | None:
        """The machine's memory may be moved out of an engine at any time: what was read counts."""
        held = read(reader, group)
        readings.append((group, psutil.pid_exists(group), held))
        return held

    monkeypatch.setattr(DeviceMemoryReader, "held_by", held_by)
    models = {"big": ModelDefinition("big", "stub", options={"stub_memory_mib": 64})}
    worker = WorkerHarness(replace(settings, models=models))
    # the memory of this worker's device is the machine's; it counts as a GPU's from now on
    worker.fleet.client.hset(
        f"{worker.fleet.scripts.prefix}worker:{worker.executor.worker}", "device", "cuda"
    )
    load = worker.fleet.load("big").operation
    worker.until(lambda: worker.fleet.row("big").state == "loaded")
    replicas, ends = worker.executor.replicas, []
    report_end = replicas._report_end

    def report(replica: Replica, *end: Any) -> None:
        ends.append(replicas.get(replica.name) is replica)
        report_end(replica, *end)

    monkeypatch.setattr(replicas, "_report_end", report)
    unload = worker.fleet.unload("big").operation
    worker.until(lambda: worker.fleet.row("big").state == "unloaded")
    assert load
    assert unload
    took, freed = (worker.fleet.operation(one.id) for one in (load, unload))
    assert took
    assert freed
    (first_pid, _, at_load), *_, (last_pid, was_alive, at_end) = readings
    assert (first_pid, was_alive) == (last_pid, True)
    assert took.gpu_memory_mib == took.memory_mib == at_load
    assert freed.gpu_memory_mib == at_end
    assert ends == [True], "a heartbeat reports a replica that is not here as missing, without its memory"
    worker.close()


def test_a_replica_that_goes_while_its_model_stays_loaded_ends_no_job(settings: Settings) -> None:
    worker = WorkerHarness(replace(settings, limits=LimitSettings(unload_timeout_s=0.1)))
    worker.load(replicas=2)
    id = worker.admit("/stub tokens=30 tokens_per_s=20")
    worker.until(lambda: worker.events(id))
    prefix = worker.fleet.scripts.prefix
    replica = worker.fleet.client.hget(f"{prefix}job:{id}", "replica").decode()
    worker.fleet.client.hset(f"{prefix}model:alpha", "least", 1)  # as if the second one had followed the load
    worker.fleet.scripts.run("release_replica", model="alpha", wanted=2, replica=replica, reason="quiet")
    assert worker.end(id).status == "completed"
    worker.until(lambda: len(worker.fleet.row("alpha").hosted) == 1)
    assert worker.fleet.row("alpha").state == "loaded"
    worker.close()


def test_on_end_is_called_at_every_end_of_a_replica(settings: Settings) -> None:
    models = {
        "good": ModelDefinition("good", "stub"),
        "bad": ModelDefinition("bad", "stub", options={"stub_load_fail": "no such weights"}),
    }
    worker = WorkerHarness(replace(settings, models=models))
    ends: list[str] = []
    worker.executor.replicas.on_end = lambda: ends.append("end")
    worker.fleet.load("bad")
    worker.until(lambda: len(ends) == 1)
    worker.load("good")
    worker.fleet.unload("good")
    worker.until(lambda: len(ends) == 2)
    worker.load("good")
    (entry,) = worker.executor.replicas.by_name.values()
    assert entry.engine
    os.kill(entry.engine.pid, signal.SIGKILL)
    worker.until(lambda: len(ends) == 3)
    worker.close()


def test_an_unload_waits_for_running_jobs_until_its_deadline_and_shows_that_stage(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker = WorkerHarness(replace(settings, limits=LimitSettings(unload_timeout_s=0.5)))
    worker.load()
    id = worker.admit("/stub tokens=1000 tokens_per_s=20")
    worker.until(lambda: worker.events(id))
    outcome = worker.fleet.unload("alpha")
    assert outcome.operation
    unload = outcome.operation.id
    report, shown = worker.fleet.replica_progress, list[str]()

    def report_and_read(*arguments: Any) -> bool:
        answer = report(*arguments)
        shown.append(getattr(worker.fleet.operation(unload), "stage", ""))
        return answer

    monkeypatch.setattr(worker.fleet, "replica_progress", report_and_read)
    end = worker.end(id)
    assert (end.status, end.code) == ("failed", "unload_deadline")
    assert shown == ["draining: 1 request is running"]
    worker.until(lambda: worker.fleet.row("alpha").state == "unloaded")
    worker.close()


def test_a_model_that_makes_room_lets_its_requests_end_beyond_the_unload_deadline(settings: Settings) -> None:
    worker = WorkerHarness(replace(settings, limits=LimitSettings(unload_timeout_s=0.1)))
    worker.load()
    id = worker.admit("/stub tokens=30 tokens_per_s=30")
    worker.until(lambda: worker.events(id))
    assert worker.fleet.make_room("alpha", "beta", {}).begun
    assert worker.end(id).status == "completed"
    worker.until(lambda: worker.fleet.row("alpha").state == "unloaded")
    worker.close()


def test_an_engine_that_ignores_cancellation_ends_at_the_unload_deadline_of_its_model(
    settings: Settings,
) -> None:
    models = {**settings.models, "alpha": replace(settings.models["alpha"], unload_timeout_s=0.2)}
    worker = WorkerHarness(replace(settings, models=models))
    worker.load()
    id = worker.admit("/stub tokens=1000 tokens_per_s=50 hang_after=2")
    worker.until(lambda: worker.events(id))
    worker.fleet.unload("alpha")
    end = worker.end(id)
    assert (end.status, end.code) == ("failed", "unload_deadline")
    worker.until(lambda: worker.fleet.row("alpha").state == "unloaded")
    worker.close()


# ---- a replica never stays in the state `starting`


DEMO = str(ROOT / "models" / "stoker-demo.gguf")


class BrokenAdapter:
    """An adapter whose start fails with an unexpected error."""

    name = "stub"

    def check(self, _model: ModelDefinition, _slots: int, _environments: Path) -> None:
        """Nothing is needed."""

    def start(self, _launch: Launch) -> Engine:
        raise OSError(24, "Too many open files")


def test_an_unexpected_error_of_a_start_is_reported_as_a_failed_load(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workers.replica_manager.adapter", lambda _name: BrokenAdapter())
    worker = WorkerHarness(settings)
    outcome = worker.fleet.load("alpha")
    worker.until(lambda: worker.fleet.row("alpha").state == "failed")
    row = worker.fleet.row("alpha")
    assert (row.code, row.workers) == ("load_failed", ())
    assert "Too many open files" in (row.last_error or "")
    assert outcome.operation
    assert getattr(worker.fleet.operation(outcome.operation.id), "status", "") == "failed"
    assert worker.executor.replicas.by_name == {}
    worker.close()


def test_a_load_whose_port_is_taken_names_the_model_that_is_configured_with_it(settings: Settings) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        options = BACKENDS["llama_server"].with_defaults({"llama_server_port": port})
        model = ModelDefinition("one", "llama_server", model_path=DEMO, options=options)
        worker = WorkerHarness(
            replace(settings, models={"one": model, "other": replace(model, name="other")})
        )
        worker.fleet.load("one")
        worker.until(lambda: worker.fleet.row("one").state == "failed")
        error = worker.fleet.row("one").last_error or ""
        worker.close()
    assert (
        f"on 127.0.0.1, port {port} (the model other, which has the same port, is probably loaded)" in error
    )


def test_an_unload_of_a_replica_that_still_starts_leaves_no_engine_behind(settings: Settings) -> None:
    models = {"alpha": ModelDefinition("alpha", "stub", replica_max=2, options={"stub_load_hang": True})}
    worker = WorkerHarness(replace(settings, models=models))
    other = worker.fleet.registry.register("w2", "cpu")
    worker.fleet.load("alpha", LoadRequest(2))
    (own,) = worker.until(lambda: list(worker.executor.replicas.by_name))
    (other_replica,) = (name for name in worker.ledger.heartbeat("w2", other).replicas)
    worker.fleet.replica_starting(other_replica, "w2", other)
    worker.fleet.replica_down(
        other_replica, "w2", other, code="load_failed", message="no"
    )  # so the other replica has to stop
    assert worker.executor.unload(own) == "cancelled"
    worker.until(lambda: worker.executor.replicas.by_name == {})
    worker.until(lambda: worker.fleet.row("alpha").workers == ())
    assert worker.fleet.row("alpha").state == "failed"
    worker.close()


def test_a_replica_that_is_loading_is_not_loaded_again_at_each_heartbeat(
    worker: WorkerHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    called = threading.Event()
    proceed = threading.Event()

    def block(*_: object) -> None:
        called.set()
        proceed.wait(scaled(5))

    monkeypatch.setattr(worker.fleet, "replica_starting", block)
    first = threading.Thread(target=lambda: worker.executor.load("alpha#1.0"), daemon=True)
    first.start()
    assert called.wait(scaled(5))
    assert worker.executor.load("alpha#1.0") == "already here"
    proceed.set()
    first.join(scaled(5))


def test_a_model_that_makes_vectors_refuses_a_job_for_an_answer() -> None:
    model = ModelDefinition("vectors", "stub", options={"stub_dimensions": 8})
    refused = _wrong_kind(model, Generation("vectors", ()))
    assert refused is not None
    assert refused.code == "generation_unsupported"
    assert _wrong_kind(model, Generation("vectors", (), embedding=Embedding(("a",)))) is None


def test_a_job_for_vectors_fails_when_the_loaded_model_makes_none(worker: WorkerHarness) -> None:
    worker.load()
    id = worker.admit("", embedding=Embedding(("a",)))
    end = worker.end(id)
    assert (end.status, end.code) == ("failed", "embeddings_unsupported")
