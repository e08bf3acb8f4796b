"""The metrics that a scrape gets are those of the ledger and the fleet, on a real server."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import replace

import orjson
import pytest
import redis
from prometheus_client import CollectorRegistry
from prometheus_client.metrics_core import Metric as Family
from prometheus_client.parser import text_string_to_metric_families as parse

from api.access.access_records import TenantRecord
from api.batches.record import Progress
from api.operations.metrics import collector
from api.operations.metrics.collector import PlatformCollector, StateReader
from api.operations.metrics.definitions import METRICS
from config.limits import Budget
from config.settings import RedisSettings, Settings
from fleet.engine_report import EngineReport
from fleet.flush import FlushCount, FlushScope
from fleet.load_request import LoadRequest
from fleet.memory import DeviceMemory, Gpu
from scheduler.batches import BatchRow, BatchStore
from scheduler.counters import CounterStore, report
from scheduler.job import Status
from store.errors import Fenced, StokerError
from streams.events import Usage
from tests.conftest import free_port
from tests.seeds import MODEL_RUNNER_API
from tests.support.changed_tenants import change_tenants
from tests.support.simulated_platform import SimulatedPlatform


@pytest.fixture
def platform(client: redis.Redis, settings: Settings) -> SimulatedPlatform:
    platform = SimulatedPlatform(client, settings)
    platform.register()
    platform.load()
    return platform


def scrape(settings: Settings) -> CollectorRegistry:
    registry = CollectorRegistry()
    registry.register(PlatformCollector(StateReader(settings)))
    return registry


def value(registry: CollectorRegistry, name: str, **labels: str) -> float | None:
    return registry.get_sample_value(name, labels)


def serve(platform: SimulatedPlatform, tenant: str, usage: Usage, **release: object) -> None:
    claim = platform.run(platform.admit(tenant))
    platform.release(claim, usage=orjson.dumps(usage), tokens=usage.total_tokens, **release)  # type: ignore[arg-type]


@pytest.mark.rule("runner/metrics-requests", "runner/metrics-duration", "runner/metrics-waits")
def test_ended_requests_are_the_sums_of_all_that_ended(platform: SimulatedPlatform) -> None:
    serve(platform, "acme", Usage(100, 11, 60), first_ms=5)
    serve(platform, "acme", Usage(100, 11, 40), status=Status.INCOMPLETE)
    serve(platform, "acme", Usage(), status=Status.FAILED, code="engine_error")
    serve(platform, "acme", Usage(), status=Status.FAILED, code="a_code_of_nobody")
    before = scrape(platform.settings)
    assert value(before, "stoker_uncounted_requests") == 4
    platform.expire()
    metrics = scrape(platform.settings)
    labels = {"model": "alpha", "tenant": "acme"}
    assert value(metrics, "vllm_requests_total", **labels, status="success") == 2
    assert value(metrics, "vllm_requests_total", **labels, status="error") == 2
    assert value(metrics, "stoker_tokens_total", **labels, kind="input") == 200
    assert value(metrics, "stoker_tokens_total", **labels, kind="cached") == 100
    assert value(metrics, "stoker_tokens_total", **labels, kind="output") == 22
    assert value(metrics, "vllm_cache_hit_rate", model="alpha") == pytest.approx(0.5)
    assert value(metrics, "stoker_request_failures_total", model="alpha", code="engine_error") == 1
    assert value(metrics, "stoker_request_failures_total", model="alpha", code="other") == 1
    assert value(metrics, "vllm_inference_duration_seconds_count", model="alpha") == 4
    assert value(metrics, "vllm_inference_duration_seconds_bucket", model="alpha", le="+Inf") == 4
    assert value(metrics, "vllm_inference_duration_seconds_bucket", model="alpha", le="600.0") == 4
    assert value(metrics, "stoker_queue_wait_seconds_count", model="alpha", priority="normal") == 4
    assert value(metrics, "stoker_time_to_first_output_seconds_count", model="alpha") == 1
    assert value(metrics, "stoker_uncounted_requests") == 0


@pytest.mark.rule("runner/metrics-duration", "runner/metrics-waits")
def test_a_histogram_is_cumulative_and_its_sum_is_in_seconds(platform: SimulatedPlatform) -> None:
    for run_s in (20.0, 40.0):
        claim = platform.run(platform.admit())
        platform.advance_time(run_s)
        platform.release(claim)
    platform.ledger.heartbeat("w1", platform.incarnations["w1"])
    platform.expire()
    metrics = scrape(platform.settings)
    buckets = {
        bound: value(metrics, "vllm_inference_duration_seconds_bucket", model="alpha", le=bound)
        for bound in ("1.0", "10.0", "30.0", "60.0", "600.0", "+Inf")
    }
    assert list(buckets.values()) == [0, 0, 1, 2, 2, 2]
    total = value(metrics, "vllm_inference_duration_seconds_sum", model="alpha")
    assert total is not None
    assert 60 <= total < 80


def end_requests(platform: SimulatedPlatform, tenants: Iterable[str]) -> None:
    """End a request of each tenant, and count all of them."""
    for tenant in tenants:
        line = f"{tenant} alpha normal completed - stop 1 0 250000 - 1 {{}}"
        platform.client.xadd(f"{platform.prefix}ended", {"e": line})
    while platform.client.xlen(f"{platform.prefix}ended"):
        platform.expire()


def requests_by_tenant(platform: SimulatedPlatform) -> dict[str, float]:
    families = {family.name: family for family in scrape(platform.settings).collect()}
    samples = families["vllm_requests"].samples
    return {one.labels["tenant"]: one.value for one in samples if one.labels["status"] == "success"}


MAX_TENANTS = 200


@pytest.mark.rule("runner/metrics-requests")
def test_tenants_beyond_the_first_ones_share_one_label(platform: SimulatedPlatform) -> None:
    first = [f"t{number:03}" for number in range(MAX_TENANTS)]
    end_requests(platform, [*first, "a", "b", "a"])
    found = requests_by_tenant(platform)
    assert found == {**dict.fromkeys(first, 1), "other": 3}


def test_no_counter_takes_over_the_count_of_another_tenant(platform: SimulatedPlatform) -> None:
    first = [f"t{number:03}" for number in range(MAX_TENANTS)]
    end_requests(platform, [*first, "zz", "zz"])
    before = requests_by_tenant(platform)
    end_requests(platform, ["a"])  # a new tenant, whose name is before all others
    assert requests_by_tenant(platform) == {**before, "other": 3}
    change_tenants(platform, t000=None)  # nothing is left of it
    end_requests(platform, ["zz", "t001"])
    found = requests_by_tenant(platform)
    assert found["other"] == 3
    assert (found["zz"], found["t001"]) == (1, 2)
    assert "t000" not in found


@pytest.mark.parametrize("kind", ["requests", "input_tokens", "output_tokens", "cached_tokens"])
def test_only_the_counters_of_a_forgotten_tenant_are_removed(platform: SimulatedPlatform, kind: str) -> None:
    end_requests(platform, ["stop", "acme"])
    counters = f"{platform.prefix}counters"
    others = {f"{kind} alpha acme x": 1, "failures alpha stop": 2, "finishes alpha stop": 3}
    others |= {"tenant_refusals acme queue_full": 4, "refusals stop": 5}
    forgotten = {f"{kind} alpha stop x": 1, "tenant_refusals stop queue_full": 2}
    forgotten |= {"tenant_errors stop engine_error": 3, "tenant_queue_wait stop 4": 1}
    platform.client.hset(counters, mapping=forgotten | others)
    change_tenants(platform, acme=TenantRecord(), stop=None)
    fields = {field.decode() for field in platform.client.hkeys(counters)}
    assert fields >= others.keys()
    assert platform.client.hget(counters, f"forgotten_{kind} alpha x") == b"1", "the sums of a model stay"
    assert not fields & forgotten.keys()
    assert platform.client.smembers(f"{platform.prefix}counted_tenants") == {b"acme"}


def gauges(connections: int = 1, lag: float = 0.0) -> dict[str, float]:
    return {"connections": connections, "streams": 2, "loop_lag_s": lag}


@pytest.mark.rule("runner/metrics-gauges")
def test_queues_models_and_workers_are_those_of_the_moment(platform: SimulatedPlatform) -> None:
    for _ in range(5):
        platform.admit()
    metrics = scrape(platform.settings)
    assert value(metrics, "vllm_queue_depth") == 3
    assert value(metrics, "stoker_queue_depth", model="alpha") == 3
    assert value(metrics, "stoker_running_requests", model="alpha") == 2
    assert value(metrics, "stoker_model_replicas", model="alpha") == 1
    assert value(metrics, "stoker_model_replicas", model="beta") == 0
    assert value(metrics, "stoker_workers") == 1


@pytest.mark.rule("runner/metrics-gauges", "runner/metrics-memory")
def test_memory_of_gpus_and_engines_is_in_bytes(platform: SimulatedPlatform) -> None:
    platform.register("w2")
    for worker, uuid in (("w1", "GPU-a"), ("w2", "GPU-a")):
        gpu = Gpu(0, uuid, "H200", used_mib=1000, total_mib=4000)
        report = DeviceMemory(uuid, 4000, 3000, (gpu,))
        platform.fleet.report_memory(worker, platform.incarnations[worker], report)
    (replica,) = platform.client.smembers(f"{platform.prefix}replicas:alpha")
    row = f"{platform.prefix}replica:{replica.decode()}"
    engine = EngineReport(kv_cache_mib=300.0, kv_cache_use=0.25, prompt_tokens=90, cached_tokens=60)
    platform.client.hset(row, mapping={"memory_mib": "900", "engine": engine.to_json()})
    metrics = scrape(platform.settings)
    assert value(metrics, "vllm_gpu_memory_used", gpu="0") == 1000 * 2**20
    assert value(metrics, "stoker_gpu_memory_bytes", gpu="0") == 4000 * 2**20
    assert value(metrics, "stoker_model_memory_bytes", model="alpha", part="kv_cache") == 300 * 2**20
    assert value(metrics, "stoker_model_memory_bytes", model="alpha", part="weights") == 600 * 2**20
    assert value(metrics, "stoker_kv_cache_usage_ratio", model="alpha") == 0.25
    labels = {"model": "alpha", "replica": replica.decode()}
    assert value(metrics, "stoker_replica_prompt_tokens_total", **labels, kind="input") == 90
    assert value(metrics, "stoker_replica_prompt_tokens_total", **labels, kind="cached") == 60


def test_two_gpus_with_one_index_have_their_uuids_as_labels(platform: SimulatedPlatform) -> None:
    platform.register("w2")
    for worker, uuid in (("w1", "GPU-a"), ("w2", "GPU-b")):
        report = DeviceMemory(uuid, 4000, 3000, (Gpu(0, uuid, "H200", 1000, 4000),))
        platform.fleet.report_memory(worker, platform.incarnations[worker], report)
    metrics = scrape(platform.settings)
    assert value(metrics, "vllm_gpu_memory_used", gpu="GPU-a") == 1000 * 2**20
    assert value(metrics, "vllm_gpu_memory_used", gpu="0") is None


def test_loads_crashes_restarts_retries_fences_and_the_reaper_are_counted(
    platform: SimulatedPlatform,
) -> None:
    platform.admit()
    (replica,) = platform.client.smembers(f"{platform.prefix}replicas:alpha")
    platform.crash(replica.decode())  # the job is queued again
    platform.run_for(2, "w1")
    outcome = platform.recovery.reload("alpha")
    platform.finish_load(outcome)
    former = platform.incarnations["w1"]
    platform.register()
    with pytest.raises(Fenced):
        platform.ledger.heartbeat("w1", former)
    platform.run_for(8)
    metrics = scrape(platform.settings)
    assert value(metrics, "stoker_operations_total", kind="load", model="alpha", status="completed") == 2
    assert value(metrics, "stoker_operation_duration_seconds_count", kind="load", model="alpha") == 2
    assert value(metrics, "stoker_engine_crashes_total", model="alpha") == 1
    assert value(metrics, "stoker_engine_restarts_total", model="alpha") == 1
    assert value(metrics, "stoker_request_retries_total", model="alpha") == 1
    assert value(metrics, "stoker_fenced_calls_total", call="heartbeat") == 1
    assert value(metrics, "stoker_expired_total", what="worker") == 1


def test_flushes_are_counted_as_operations(platform: SimulatedPlatform) -> None:
    for scope in (FlushScope(), FlushScope("model", model="beta")):  # without engines, except alpha's
        for assignment in (outcome := platform.fleet.flush(scope)).assignments:
            incarnation = platform.incarnations[assignment.worker]
            operation = outcome.operation
            assert operation is not None
            platform.fleet.replica_flushed(
                assignment.replica, assignment.worker, incarnation, operation.id, FlushCount(1, 0.0)
            )
    metrics = scrape(platform.settings)
    for model in ("", "beta"):
        assert value(metrics, "stoker_operations_total", kind="flush", model=model, status="completed") == 1


def test_counters_that_alerts_compare_are_there_before_the_first_event(platform: SimulatedPlatform) -> None:
    metrics = scrape(platform.settings)
    for model in ("alpha", "beta"):
        for event in ("engine_crashes", "engine_restarts", "request_retries"):
            assert value(metrics, f"stoker_{event}_total", model=model) == 0
    for what in ("lease", "deadline", "worker", "load"):
        assert value(metrics, "stoker_expired_total", what=what) == 0
    for call in ("step", "heartbeat"):
        assert value(metrics, "stoker_fenced_calls_total", call=call) == 0
    assert value(metrics, "stoker_refusals_total", code="queue_full") == 0
    serve(platform, "acme", Usage(1, 1))
    platform.expire()
    metrics = scrape(platform.settings)
    for status in ("error", "cancelled"):
        assert value(metrics, "vllm_requests_total", model="alpha", tenant="acme", status=status) == 0


def test_only_replicas_that_crashed_count_as_restarts(platform: SimulatedPlatform) -> None:
    platform.register("w2")
    platform.ledger.heartbeat("w2", platform.incarnations["w2"])
    outcome = platform.fleet.unload("alpha")
    platform.finish_unload(outcome)
    first, _ = platform.load(replicas=2)
    worker = platform.client.hget(f"{platform.prefix}replica:{first}", "worker").decode()
    other = next(name for name in ("w1", "w2") if name != worker)
    platform.crash(first, worker)
    platform.run_for(2, "w1", "w2")
    (replaced,) = platform.recovery.replace_lost()
    platform.finish_load(replaced)
    assert value(scrape(platform.settings), "stoker_engine_restarts_total", model="alpha") == 1
    platform.register(other)  # its replica is lost, and is replaced without having crashed
    for outcome in platform.recovery.replace_lost():
        platform.finish_load(outcome)
    assert value(scrape(platform.settings), "stoker_engine_restarts_total", model="alpha") == 1


def test_only_refused_steps_of_former_claims_count_as_fenced(platform: SimulatedPlatform) -> None:
    claim = platform.run(platform.admit())
    other = platform.run(platform.admit())
    platform.ledger.cancel(other.id, "acme")
    platform.append_text(other, 1, "refused, since it is cancelled")
    assert value(scrape(platform.settings), "stoker_fenced_calls_total", call="step") == 0
    platform.register()
    platform.append_text(claim, 1, "too late")
    assert value(scrape(platform.settings), "stoker_fenced_calls_total", call="step") == 1


def test_a_value_at_the_bound_of_a_bucket_is_in_it(platform: SimulatedPlatform) -> None:
    line = "acme alpha normal completed - stop 1 0 250000 - 1 {}"
    platform.client.xadd(f"{platform.prefix}ended", {"e": line})
    platform.expire()
    metrics = scrape(platform.settings)
    assert value(metrics, "vllm_inference_duration_seconds_bucket", model="alpha", le="0.25") == 1
    assert value(metrics, "vllm_inference_duration_seconds_bucket", model="alpha", le="0.1") == 0


def test_gauges_of_api_processes_are_added_and_old_reports_are_ignored(platform: SimulatedPlatform) -> None:
    store = CounterStore(platform.client, platform.settings)
    store.execute(report("one", 1, gauges(3, 0.25), {}))
    store.execute(report("two", 1, gauges(4, 0.5), {}))
    store.execute(report("hung", 1, gauges(9, 9.0), {}))
    platform.client.zadd(f"{platform.prefix}api_processes", {"hung": (time.time() - 6) * 1e6})
    metrics = scrape(platform.settings)
    assert value(metrics, "stoker_api_processes") == 2
    assert value(metrics, "stoker_api_connections") == 7
    assert value(metrics, "stoker_api_streams") == 4
    assert value(metrics, "stoker_api_loop_lag_seconds") == 0.5


def test_a_report_counts_once_when_it_is_repeated(platform: SimulatedPlatform) -> None:
    store = CounterStore(platform.client, platform.settings)
    for number in (1, 1, 2):
        store.execute(
            report("one", number, gauges(), {"refusals rate_limit_exceeded": 3, "refusals invented": 1})
        )
    metrics = scrape(platform.settings)
    assert value(metrics, "stoker_refusals_total", code="rate_limit_exceeded") == 6
    assert value(metrics, "stoker_refusals_total", code="other") == 2


def test_refused_requests_of_tenants_have_their_labels(platform: SimulatedPlatform) -> None:
    store = CounterStore(platform.client, platform.settings)
    store.execute(report("one", 1, gauges(), {}, {("acme", "queue_full"): 2, ("acme", "invented"): 1}))
    metrics = scrape(platform.settings)
    assert value(metrics, "stoker_tenant_refusals_total", tenant="acme", code="queue_full") == 2
    assert value(metrics, "stoker_tenant_refusals_total", tenant="acme", code="other") == 1
    first = {(f"t{number:03}", "queue_full"): 1 for number in range(MAX_TENANTS + 3)}
    store.execute(report("one", 2, gauges(), {}, first))
    metrics = scrape(platform.settings)
    assert value(metrics, "stoker_tenant_refusals_total", tenant="other", code="queue_full") == 4


def test_batches_are_there_by_state_with_their_open_lines(platform: SimulatedPlatform) -> None:
    store = BatchStore(platform.client, platform.settings.redis.prefix)
    states = ("validating", "in_progress", "in_progress", "completed")
    for number, state in enumerate(states):
        progress = Progress(state, total=10 if number else 0)
        progress.counts["succeeded"] = number
        row = BatchRow(f"batch_{number}", "acme", "openai", b"{}", progress.to_json(), 0)
        store.create(row, most_active=9, most=9)
    store.cancel("batch_2", "acme")
    counts = {"batch_lines openai succeeded": 7, "batches openai completed": 1}
    store.update("batch_3", store.hold("") or "", Progress("completed").to_json(), ended=True, counts=counts)
    metrics = scrape(platform.settings)
    for state, number in (("validating", 1), ("in_progress", 1), ("cancelling", 1), ("finalizing", 0)):
        assert value(metrics, "stoker_batches", state=state) == number
    assert value(metrics, "stoker_batch_lines_open") == 9 + 8
    assert value(metrics, "stoker_batches_ended_total", kind="openai", state="completed") == 1
    assert value(metrics, "stoker_batches_ended_total", kind="messages", state="failed") == 0
    assert value(metrics, "stoker_batch_lines_total", kind="openai", outcome="succeeded") == 7
    assert value(metrics, "stoker_batch_lines_total", kind="messages", outcome="expired") == 0


def test_budgets_are_those_of_the_tenants_with_the_largest_shares(
    platform: SimulatedPlatform, monkeypatch: pytest.MonkeyPatch
) -> None:
    serve(platform, "acme", Usage(60, 20))
    serve(platform, "other", Usage(1, 1))
    platform.expire()
    budgets = {"acme": Budget(100, 1000, 0.5), "other": Budget(200), "idle": Budget(5, 5, 0.9)}
    monkeypatch.setattr(collector, "MAX_BUDGETS", 2)
    registry = CollectorRegistry()
    registry.register(PlatformCollector(StateReader(platform.settings, budgets=lambda: budgets)))
    used = "stoker_tenant_budget_used_ratio"
    assert value(registry, used, tenant="acme", unit="tokens") == 0.8
    assert 0 < (value(registry, used, tenant="acme", unit="gpu_s") or 0) < 0.1
    assert value(registry, used, tenant="other", unit="tokens") == 0.01
    assert value(registry, used, tenant="other", unit="gpu_s") is None
    assert value(registry, used, tenant="idle", unit="tokens") is None
    soft = "stoker_tenant_budget_soft_ratio"
    assert value(registry, soft, tenant="acme", unit="gpu_s") == 0.5
    assert value(registry, soft, tenant="other", unit="tokens") is None


def test_only_stoker_up_is_there_while_redis_is_down(settings: Settings) -> None:
    away = replace(settings, redis=RedisSettings(f"redis://127.0.0.1:{free_port()}/0"))
    families = list(scrape(away).collect())
    assert [family.name for family in families] == ["stoker_up"]
    assert [sample.value for sample in families[0].samples] == [0]


def test_scrapes_within_a_second_read_redis_once(platform: SimulatedPlatform) -> None:
    now = [0.0]
    reader = StateReader(platform.settings, clock=lambda: now[0])
    platform.admit()
    first = reader.read()
    platform.admit()
    now[0] = 0.9
    assert reader.read() is first
    now[0] = 1.0
    assert reader.read().models[0].inflight == 2


def test_a_failure_is_not_repeated_within_a_second(settings: Settings) -> None:
    away = replace(settings, redis=RedisSettings(f"redis://127.0.0.1:{free_port()}/0"))
    reader = StateReader(away, clock=lambda: 0.0)
    errors = []
    for _ in range(2):
        with pytest.raises(StokerError) as caught:
            reader.read()
        errors.append(caught.value)
    assert errors[0] is errors[1]


def test_every_metric_is_defined_with_its_type_and_labels(platform: SimulatedPlatform) -> None:
    serve(platform, "acme", Usage(10, 5, 5), first_ms=1)
    platform.expire()
    families: dict[str, Family] = {family.name: family for family in scrape(platform.settings).collect()}
    assert set(families) == {metric.name.removesuffix("_total") for metric in METRICS}
    for metric in METRICS:
        family = families[metric.name.removesuffix("_total")]
        assert family.type == metric.type
        for sample in family.samples:
            assert set(sample.labels) - {"le"} == set(metric.labels), metric.name


@pytest.mark.rule("runner/metrics-requests", "runner/metrics-gauges", "runner/metrics-duration")
def test_the_samples_of_the_example_of_the_specification_are_there(platform: SimulatedPlatform) -> None:
    serve(platform, "acme", Usage(10, 5, 5), first_ms=1)
    platform.expire()
    gpu = DeviceMemory("GPU-a", 4000, 3000, (Gpu(0, "GPU-a", "H200", 1000, 4000),))
    platform.fleet.report_memory("w1", platform.incarnations["w1"], gpu)
    names = {"llama-3.1-70b": "alpha", "community-x": "acme"}
    metrics = scrape(platform.settings)
    found = {family.name: family for family in metrics.collect()}
    for example in parse(MODEL_RUNNER_API["metrics"]):
        assert found[example.name].type == example.type
        for sample in example.samples:
            labels = {label: names.get(text, text) for label, text in sample.labels.items()}
            assert value(metrics, sample.name, **labels) is not None, sample


def test_a_load_that_fails_is_counted_and_the_model_is_failed(platform: SimulatedPlatform) -> None:
    outcome = platform.fleet.load("beta", LoadRequest())
    platform.crash(outcome.assignments[0].replica, code="load_failed")
    metrics = scrape(platform.settings)
    assert value(metrics, "stoker_operations_total", kind="load", model="beta", status="failed") == 1
    assert value(metrics, "stoker_model_failed", model="beta") == 1
