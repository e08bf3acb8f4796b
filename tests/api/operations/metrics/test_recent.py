"""The samples of the last hour and week: rates, gaps, turns of several processes, bounds of what is kept."""

from __future__ import annotations

from dataclasses import replace

import orjson
import pytest
import redis

from api.operations.metrics import parts
from api.operations.metrics.collector import StateReader
from api.operations.metrics.sample import Moment, Rates, Sample, mean_sample, quantile_ms
from api.operations.metrics.sample_store import MAX_COUNTED_TENANTS, PAST, RECENT, MetricSamples
from api.operations.metrics.totals import Counted, Totals, read_totals
from config.settings import MetricsSettings, Settings
from fleet.engine_report import EngineReport, EngineRow
from fleet.memory import DeviceMemory, Gpu
from fleet.worker_row import WorkerRow
from scheduler.counters import Counters, CounterStore, report
from scheduler.job import Status, TokenCount, TokenReport
from tests.support.changed_tenants import change_tenants
from tests.support.stopped_platform import StoppedPlatform

EACH_MIB = ((0, 100), (1, 200), (2, None))
"""The memory of three engines; that of the last was not measured."""


class Sampled:
    """A platform, and the processes that take samples of it; time is an argument."""

    def __init__(self, client: redis.Redis, settings: Settings, tenants: tuple[str, ...] = ()) -> None:
        self.platform = StoppedPlatform(client, settings)
        self.settings = settings
        self.store = CounterStore(client, settings)
        self.reports = 0
        self.processes = [MetricSamples(client, settings, lambda: tenants) for _ in range(2)]
        # from the begin of an interval on, so that no test depends on the time of day
        seconds, microseconds = client.time()
        self.platform.advance_time(PAST.interval_s - (seconds + microseconds / 1e6) % PAST.interval_s + 0.5)
        self.platform.register()
        self.platform.load()
        self.advance(0)

    def advance(self, seconds: float) -> None:
        if 0 < seconds <= 60:
            self.platform.run_for(seconds, "w1", every=2.0)
        else:
            self.platform.advance_time(seconds)
        self._set_clocks()

    def _set_clocks(self) -> None:
        self.platform.stop_clock()
        for process in self.processes:
            process.scripts.offset_us = self.platform.ledger.scripts.offset_us

    def take(self, process: int = 0) -> bool:
        self._set_clocks()
        # a reader of its own: one reads the state at most once a second
        return self.processes[process].take(StateReader(self.settings).read)

    def fill(self, count: int, seconds: float) -> None:
        """Take so many samples, this far apart."""
        reader = StateReader(self.settings)
        for _ in range(count):
            self.advance(seconds)
            assert self.processes[0].take(reader.read)

    def serve(self, tokens: int = 100, cached: int = 0) -> None:
        claim = self.platform.run(self.platform.admit())
        usage = {"input_tokens": 50, "output_tokens": tokens, "cached_tokens": cached}
        self.platform.release(claim, usage=orjson.dumps(usage), tokens=tokens, first_ms=20)
        self.platform.expire()
        self.report(input=50 - cached, output=tokens)

    def report(self, *, input: int = 0, output: int = 0, tenant: str = "acme") -> None:
        """Report tokens that the engine has processed, as the worker's heartbeat does."""
        self.reports += 1
        report = TokenReport(self.reports, (TokenCount("alpha", tenant, input, output),))
        self.platform.ledger.heartbeat("w1", self.platform.incarnations["w1"], report)


@pytest.fixture
def sampled(client: redis.Redis, settings: Settings) -> Sampled:
    return Sampled(client, settings)


def test_the_rates_are_the_growth_of_the_counters_since_the_sample_before(sampled: Sampled) -> None:
    assert sampled.take()
    sampled.serve(tokens=100, cached=25)
    sampled.serve(tokens=300)
    waiting = [sampled.platform.admit() for _ in range(3)]
    sampled.store.execute(report("p", 1, {}, {"refusals rate_limit_exceeded": 3, "refusals queue_full": 2}))
    sampled.store.execute(report("p", 2, {}, {"refusals unknown_model": 7}))
    sampled.advance(10)
    assert sampled.take()
    first, second = sampled.processes[1].read().samples
    assert first["output_tokens_per_s"] is None, "nothing came before it"
    assert second["output_tokens_per_s"] == pytest.approx(40, rel=0.1)
    assert second["input_tokens_per_s"] == pytest.approx(7.5, rel=0.1), "without the cached ones"
    assert second["requests_per_s"] == pytest.approx(0.2, rel=0.1)
    assert second["failures_per_s"] == 0
    assert second["cache_hit_rate"] == 0.25
    assert (second["refusals_429"], second["refusals_503"]) == (3, 2)
    assert (second["running"], second["waiting"]) == (2, len(waiting) - 2)
    assert 0 <= second["queue_wait_p50_ms"] <= second["queue_wait_p95_ms"] <= 10
    assert 0 < second["first_token_p50_ms"] < second["first_token_p95_ms"] <= 50
    (rates,) = sampled.processes[0].read().models
    assert (rates["model"], rates["output_tokens_per_s"]) == ("alpha", second["output_tokens_per_s"])


def test_tokens_of_a_running_request_count_before_its_end(sampled: Sampled) -> None:
    platform = sampled.platform
    sampled.take()
    claim = platform.run(platform.admit())
    rates = []
    for _ in range(3):
        sampled.report(output=100)
        sampled.advance(10)
        sampled.take()
        rates.append(sampled.processes[1].read().samples[-1]["output_tokens_per_s"])
    assert rates == [pytest.approx(10, rel=0.1)] * 3
    for of in (("model", "alpha"), ("tenant", "acme")):
        sample = sampled.processes[1].read(of=of).samples[-1]
        assert (sample["output_tokens_per_s"], sample["requests_per_s"]) == (rates[-1], 0)
    (model,) = sampled.processes[1].read().models
    assert model["output_tokens_per_s"] == rates[-1]
    platform.release(claim, usage=orjson.dumps({"output_tokens": 300}), tokens=300)
    sampled.advance(10)
    sampled.take()
    last = sampled.processes[1].read().samples[-1]
    assert (last["output_tokens_per_s"], last["requests_per_s"] > 0) == (0, True), "they count once"


def test_errors_count_by_code_since_the_sample_before(sampled: Sampled) -> None:
    sampled.take()
    claim = sampled.platform.run(sampled.platform.admit())
    sampled.platform.release(claim, Status.FAILED, code="engine_error")
    cancelled = sampled.platform.run(sampled.platform.admit())
    sampled.platform.release(cancelled, Status.CANCELLED, code="cancelled")
    sampled.platform.expire()
    counts = {"refusals queue_full": 2, "refusals no_code_of_the_platform": 1}
    limited = {("acme", "queue_full"): 2}
    errors = limited | {("acme", "invalid_request"): 3, ("acme", "no_code_of_the_platform"): 1}
    sampled.store.execute(report("p", 1, {}, counts, limited, errors=errors))
    sampled.advance(10)
    sampled.take()
    read = sampled.processes[1].read
    assert read().samples[-1]["errors"] == {"engine_error": 1, "queue_full": 2, "other": 1}
    model, tenant = read(of=("model", "alpha")).samples[-1], read(of=("tenant", "acme")).samples[-1]
    assert (model["errors"], model["failures_per_s"], model["refusals_503"]) == (
        {"engine_error": 1},
        pytest.approx(0.1, rel=0.1),
        None,
    )
    assert tenant["errors"] == {"engine_error": 1, "queue_full": 2, "invalid_request": 3, "other": 1}
    assert (tenant["refusals_429"], tenant["refusals_503"]) == (0, 2)
    assert tenant["failures_per_s"] == model["failures_per_s"]
    sampled.advance(10)
    sampled.take()
    assert read().samples[-1]["errors"] == {}


def test_samples_of_a_model_or_tenant_have_its_rates_alone(sampled: Sampled) -> None:
    platform = sampled.platform
    sampled.take()
    sampled.serve(tokens=100, cached=25)
    held = [platform.admit(tenant="acme") for _ in range(3)]
    sampled.advance(10)
    sampled.take()
    read = sampled.processes[1].read
    first, model = read(of=("model", "alpha")).samples
    assert (first["output_tokens_per_s"], first["running"], first["errors"]) == (None, None, {})
    whole = read().samples[-1]
    unmeasured = {"refusals_429": None, "refusals_503": None, "memory_used_mib": None}
    assert model == whole | unmeasured, "no engine has reported its memory"
    tenant = read(of=("tenant", "acme")).samples[-1]
    assert tenant["output_tokens_per_s"] == whole["output_tokens_per_s"]
    assert tenant["cache_hit_rate"] == 0.5
    assert (tenant["running"], tenant["waiting"]) == (2, len(held) - 2)
    for name in ("queue_wait_p50_ms", "queue_wait_p95_ms", "first_token_p50_ms", "first_token_p95_ms"):
        assert tenant[name] == whole[name] is not None
    assert (tenant["memory_used_mib"], tenant["gpu_utilization"]) == (None, None)
    for idle in (("model", "beta"), ("tenant", "other")):
        sample = read(of=idle).samples[-1]
        assert (sample["output_tokens_per_s"], sample["running"], sample["errors"]) == (0, 0, {})
        assert sample["queue_wait_p95_ms"] is None
        assert sample["memory_total_mib"] == whole["memory_total_mib"]


def test_the_times_of_a_tenant_are_those_of_its_own_requests(sampled: Sampled) -> None:
    sampled.take()
    for tenant, first_ms in (("quick", 20), ("slow", 4_000)):
        claim = sampled.platform.run(sampled.platform.admit(tenant=tenant))
        sampled.platform.release(claim, usage=orjson.dumps({"output_tokens": 1}), first_ms=first_ms)
        sampled.platform.expire()
    sampled.advance(10)
    sampled.take()
    times = {
        tenant: sampled.processes[0].read(of=("tenant", tenant)).samples[-1]["first_token_p95_ms"]
        for tenant in ("quick", "slow")
    }
    assert times["quick"] <= 50
    assert 2_500 < times["slow"] <= 5_000


def test_a_model_has_the_memory_of_its_engines_and_the_utilization_of_its_gpus(sampled: Sampled) -> None:
    state = StateReader(sampled.settings).read()
    (alpha,) = (row for row in state.models if row.name == "alpha")
    gpus = [Gpu(at, f"GPU-{at}", "H200", 10, 100, utilization=0.2 * at) for at in range(3)]
    workers = [
        WorkerRow(f"w{at}", "cuda", 1, 0.0, memory=DeviceMemory(f"GPU-{at}", 100, 90, (gpus[at],)))
        for at in range(3)
    ]
    hosted = tuple(replace(alpha.hosted[0], worker=f"w{at}") for at in (1, 2))
    engines = [EngineRow(f"alpha-{at}", "alpha", "cuda", mib, EngineReport(), False) for at, mib in EACH_MIB]
    now = replace(state, models=[replace(alpha, hosted=hosted)], workers=workers, engines=engines)
    before = Totals(0, Counted(), {}, {}, {})
    grown = Totals(10, Counted(), {}, {}, {}).growth(before, 10)
    made = parts.make_parts(now, {}, 10, grown)
    found = parts.part_of(orjson.loads(made.to_json()), "model", "alpha")
    assert found["memory_used_mib"] == 300
    assert found["gpu_utilization"] == pytest.approx(0.3)
    unmeasured = replace(now, engines=[replace(one, memory_mib=None) for one in engines])
    made = parts.make_parts(unmeasured, {}, 10, grown)
    assert parts.part_of(orjson.loads(made.to_json()), "model", "alpha")["memory_used_mib"] is None


def test_values_that_parts_of_an_earlier_version_lack_are_null() -> None:
    stored = {"model": {"alpha": [1, 2, 3.5]}, "tenant": {"acme": [0, 0, 4.5]}}
    found = parts.part_of(stored, "model", "alpha")
    assert (found["running"], found["waiting"], found["input_tokens_per_s"]) == (1, 2, 3.5)
    assert found["memory_used_mib"] is None
    assert parts.part_of(stored, "model", "beta")["memory_used_mib"] is None
    tenant = parts.part_of(stored, "tenant", "acme")
    assert (tenant["input_tokens_per_s"], tenant["running"], tenant["queue_wait_p95_ms"]) == (4.5, None, None)


def test_a_tenant_whose_first_requests_wait_is_seen_in_its_samples(
    client: redis.Redis, settings: Settings
) -> None:
    sampled = Sampled(client, settings, tenants=("acme", "first"))
    sampled.take()
    for tenant in ("acme", "acme", "first", "first", "first"):
        sampled.platform.admit(tenant=tenant)
    sampled.advance(10)
    sampled.take()
    sample = sampled.processes[0].read(of=("tenant", "first")).samples[-1]
    assert (sample["running"], sample["waiting"], sample["requests_per_s"]) == (0, 3, 0)


def test_the_rates_of_a_tenant_without_counters_of_its_own_are_null(
    client: redis.Redis, settings: Settings
) -> None:
    sampled = Sampled(client, settings, tenants=("late", "idle"))
    names = [f"t{number}" for number in range(MAX_COUNTED_TENANTS)]
    client.sadd(f"{sampled.platform.prefix}counted_tenants", *names)
    for _ in range(2):
        claim = sampled.platform.run(sampled.platform.admit(tenant="late"))
        sampled.platform.release(claim)
        sampled.platform.expire()
        sampled.platform.admit(tenant="late")
        sampled.advance(10)
        sampled.take()
    read = sampled.processes[0].read
    late, idle, counted = (read(of=("tenant", name)).samples[-1] for name in ("late", "idle", "t7"))
    assert (late["running"], late["requests_per_s"], late["errors"]) == (2, None, {})
    assert (idle["running"], idle["requests_per_s"]) == (None, None)
    assert (counted["running"], counted["requests_per_s"]) == (0, 0)


def test_a_removed_tenant_leaves_no_gap_in_the_samples_of_others(sampled: Sampled) -> None:
    claim = sampled.platform.run(sampled.platform.admit(tenant="gone"))
    sampled.platform.release(claim, usage=orjson.dumps({"input_tokens": 9, "output_tokens": 9}), tokens=9)
    sampled.platform.expire()
    sampled.report(input=9, output=9, tenant="gone")
    sampled.take()
    change_tenants(sampled.platform, gone=None)
    sampled.serve(tokens=100)
    sampled.advance(10)
    sampled.take()
    read = sampled.processes[0].read
    for sample in (read().samples[-1], read(of=("model", "alpha")).samples[-1]):
        assert sample["output_tokens_per_s"] == pytest.approx(10, rel=0.1)
        assert sample["requests_per_s"] == pytest.approx(0.1, rel=0.1)
    assert read(of=("tenant", "gone")).samples[-1]["requests_per_s"] == 0


def test_the_parts_of_the_answered_samples_alone_are_read(sampled: Sampled) -> None:
    sampled.fill(3, 10)
    client, key = sampled.platform.client, f"{sampled.platform.prefix}recent_parts"
    places = client.hkeys(key)
    read = sampled.processes[1].read
    before, _, latest = (one["at"] for one in read().samples)
    oldest = min(places, key=lambda place: orjson.loads(client.hget(key, place))["at"])
    client.hset(key, oldest, "unreadable")
    assert [one["requests_per_s"] for one in read(after=before, of=("model", "alpha")).samples] == [0, 0]
    client.hset(key, oldest, orjson.dumps({"at": before - 3600, "model": {}, "tenant": {}}))
    assert read(of=("model", "alpha")).samples[0]["requests_per_s"] is None, "its parts are of another time"
    client.delete(key)
    client.set(key, "unreadable")
    assert read(after=latest, of=("model", "alpha")).samples == []


def test_the_busiest_have_parts_and_others_are_unknown(
    sampled: Sampled, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parts, "MOST_PARTS", 1)
    sampled.take()
    sampled.serve(tokens=100)
    claim = sampled.platform.run(sampled.platform.admit(tenant="other"))
    sampled.platform.release(claim, usage=orjson.dumps({"input_tokens": 1, "output_tokens": 1}), tokens=1)
    sampled.platform.expire()
    sampled.report(input=1, output=1, tenant="other")
    sampled.advance(10)
    sampled.take()
    read = sampled.processes[0].read
    assert read(of=("tenant", "acme")).samples[-1]["output_tokens_per_s"] > 1
    assert read(of=("tenant", "other")).samples[-1]["output_tokens_per_s"] is None


def test_a_sample_of_ten_minutes_has_the_means_of_each_model(sampled: Sampled) -> None:
    sampled.take()
    for number in range(60):
        if number == 30:
            running = sampled.platform.run(sampled.platform.admit())
        if number == 59:
            sampled.platform.release(running, usage=orjson.dumps({"output_tokens": 600}), tokens=600)
            sampled.platform.expire()
            sampled.report(output=600)
        sampled.advance(10)
        sampled.take()
    sample = sampled.processes[0].read(span_s=24 * 3600, of=("model", "alpha")).samples[-1]
    assert sample["running"] == pytest.approx(29 / 60, abs=0.07)
    assert sample["output_tokens_per_s"] == pytest.approx(1, rel=0.05)


def test_the_parts_of_fifty_models_and_tenants_take_little_memory(sampled: Sampled) -> None:
    numbers = {
        f"a-model-of-the-hub-{number}": Counted(processed_output=999_999, ended=9) for number in range(60)
    }
    before = Totals(0, Counted(), {}, {}, {})
    now = Totals(10, Counted(), numbers, numbers, {})
    made = parts.make_parts(StateReader(sampled.settings).read(), {}, 10, now.growth(before, 10))
    assert (len(made.model or ()), len(made.tenant or ())) == (50, 50)
    assert len(made.to_json()) < 10_000


def test_the_first_token_and_the_cache_hits_of_a_model_follow_its_latest_requests(sampled: Sampled) -> None:
    sampled.take()
    sampled.serve(cached=25)
    sampled.advance(10)
    sampled.take()
    (rates,) = sampled.processes[0].read().models
    assert rates["cache_hit_rate"] == 0.5
    assert 0 < rates["first_token_p95_ms"] <= 50
    for _ in range(3):  # without requests the quantile stays, though the rates are 0
        sampled.advance(10)
        sampled.take()
    (later,) = sampled.processes[0].read().models
    assert (later["requests_per_s"], later["first_token_p95_ms"]) == (0, rates["first_token_p95_ms"])


def test_a_model_without_requests_for_an_hour_has_no_first_token(sampled: Sampled) -> None:
    bounds = {"first_output": (10_000, 100_000)}

    def counters(slow: int) -> Counters:
        counts = {"first_output": [(["alpha", "1"], "5"), (["alpha", "2"], str(slow))]}
        tokens = {"processed_output_tokens": [(["alpha", "t"], "1")]}
        return Counters(counts | tokens, bounds, (), 0)

    def totals(at: float, slow: int, before: Totals | None) -> Totals:
        state = replace(StateReader(sampled.settings).read(), counters=counters(slow))
        return read_totals(state, at, before)

    first = totals(0, 0, None)
    second = totals(10, 8, first)
    assert second.recent_outputs == {"alpha": [0, 8, 0]}, "the first 5 came before the samples"
    assert totals(310, 8, second).recent_outputs == {"alpha": [0, 4, 0]}
    assert totals(3610, 8, second).recent_outputs == {}


def test_one_process_takes_the_sample_of_an_interval(sampled: Sampled) -> None:
    assert [sampled.take(0), sampled.take(1), sampled.take(0)] == [True, False, False]
    sampled.advance(10)
    assert [sampled.take(1), sampled.take(0)] == [True, False]
    assert len(sampled.processes[0].read().samples) == 2


def test_a_sample_of_another_process_continues_the_rates(sampled: Sampled) -> None:
    sampled.take(0)
    sampled.serve(tokens=100)
    sampled.advance(10)
    sampled.take(1)
    assert sampled.processes[0].read().samples[-1]["output_tokens_per_s"] == pytest.approx(10, rel=0.1)


def test_a_gap_stays_visible_and_its_growth_counts_for_no_rate(sampled: Sampled) -> None:
    sampled.take()
    sampled.serve(tokens=1000)
    sampled.advance(60)
    sampled.take()
    before, after = sampled.processes[0].read().samples
    assert after["at"] - before["at"] > 59
    assert after["output_tokens_per_s"] is None
    assert after["refusals_429"] is None
    assert sampled.processes[0].read().models == []


def test_lost_counters_give_no_negative_rate(sampled: Sampled) -> None:
    sampled.serve()
    sampled.take()
    sampled.platform.client.delete(f"{sampled.platform.prefix}counters")
    sampled.advance(10)
    sampled.take()
    assert sampled.processes[0].read().samples[-1]["output_tokens_per_s"] is None
    sampled.advance(10)
    sampled.take()
    assert sampled.processes[0].read().samples[-1]["output_tokens_per_s"] == 0


def test_the_samples_of_an_hour_are_kept_in_one_bounded_key(sampled: Sampled) -> None:
    sampled.fill(RECENT.kept + 20, 10)
    key = f"{sampled.platform.prefix}recent_metrics"
    assert sampled.platform.client.hlen(key) == RECENT.kept + 3
    assert 0 < sampled.platform.client.ttl(key) <= 7200
    samples = sampled.processes[0].read().samples
    assert len(samples) in (RECENT.kept - 1, RECENT.kept)
    assert [one["at"] for one in samples] == sorted(one["at"] for one in samples)
    assert len(sampled.processes[0].read(after=samples[-3]["at"]).samples) == 2


def test_samples_of_more_than_an_hour_ago_and_old_rates_are_not_read(sampled: Sampled) -> None:
    sampled.serve()
    sampled.take()
    sampled.advance(10)
    sampled.take()
    assert sampled.processes[0].read().models
    sampled.advance(25)
    assert sampled.processes[0].read().models == []
    sampled.advance(3600)
    assert sampled.processes[0].read().samples == []


def test_a_sample_of_ten_minutes_has_the_rates_and_means_of_its_interval(sampled: Sampled) -> None:
    sampled.take()
    for number in range(60):
        if number == 20:
            sampled.serve(tokens=600)
        if number == 30:
            running = sampled.platform.run(sampled.platform.admit())
        if number == 59:
            sampled.platform.release(running)
        sampled.advance(10)
        assert sampled.take(number % 2)
    week = sampled.processes[1].read(span_s=24 * 3600)
    assert week.interval_s == 600
    first, second = week.samples
    assert first["output_tokens_per_s"] is None
    assert second["output_tokens_per_s"] == pytest.approx(1, rel=0.05)
    assert second["at"] - first["at"] == pytest.approx(600, abs=10)
    assert second["running"] == pytest.approx(29 / 60, abs=0.07)
    assert second["first_token_p95_ms"] > 0
    assert second["queue_wait_p95_ms"] is not None


def test_the_mean_of_what_held_is_that_of_the_samples_of_the_interval() -> None:
    moment = Moment(at=600.0, running=0, waiting=9, memory_used_mib=10, memory_total_mib=100)
    last = Sample(moment, Rates())
    held = {"running": 4, "waiting": 0}
    covered = [held | {"memory_used_mib": used, "gpu_utilization": used / 100} for used in (20, 40)]
    covered.append(held | {"memory_used_mib": 30, "gpu_utilization": None})
    mean = mean_sample(last, covered).moment
    assert (mean.running, mean.waiting, mean.memory_used_mib, mean.memory_total_mib) == (4, 0, 30, 100)
    assert mean.gpu_utilization == 0.3
    assert mean_sample(last, []) == last


def test_the_samples_of_a_week_are_kept_in_one_bounded_key(sampled: Sampled) -> None:
    sampled.fill(PAST.kept + 5, 600)
    key = f"{sampled.platform.prefix}past_metrics"
    assert sampled.platform.client.hlen(key) == PAST.kept + 3
    assert 0 < sampled.platform.client.ttl(key) <= 14 * 24 * 3600
    week = sampled.processes[0].read(span_s=7 * 24 * 3600)
    assert len(week.samples) in (PAST.kept - 1, PAST.kept)
    assert week.models == []
    assert len(sampled.processes[0].read(span_s=6 * 3600).samples) in (35, 36)
    assert sampled.platform.client.memory_usage(key) < 1_000_000


def test_a_span_of_an_hour_or_less_has_samples_of_ten_seconds(sampled: Sampled) -> None:
    for _ in range(4):
        sampled.advance(10)
        sampled.take()
    recent = sampled.processes[0].read(span_s=25)
    assert (recent.interval_s, len(recent.samples)) == (10, 3)


def test_a_sample_of_an_earlier_version_has_nulls_for_later_fields(sampled: Sampled) -> None:
    sampled.take()
    key = f"{sampled.platform.prefix}recent_metrics"
    (place,) = [name for name in sampled.platform.client.hkeys(key) if name.isdigit()]
    old = orjson.loads(sampled.platform.client.hget(key, place))
    del old["first_token_p50_ms"]
    sampled.platform.client.hset(key, place, orjson.dumps(old))
    (sample,) = sampled.processes[0].read().samples
    assert sample["first_token_p50_ms"] is None


def test_samples_of_before_the_clock_was_set_back_are_left_out(sampled: Sampled) -> None:
    sampled.take()
    sampled.serve()
    running = sampled.platform.run(sampled.platform.admit())
    sampled.fill(2, 10)
    read = sampled.processes[0].read()
    assert read.models
    last = read.samples[-1]["at"]
    sampled.platform.release(running)
    sampled.advance(-3600)
    before = sampled.processes[0].read(after=int(last))
    assert (before.samples, before.models) == ([], []), "they are of a time to come"
    assert sampled.take()
    followed = sampled.processes[0].read(after=int(last))
    assert [one["running"] for one in followed.samples] == [0]
    assert followed.samples == sampled.processes[0].read().samples
    week = sampled.processes[0].read(span_s=24 * 3600)
    assert [one["running"] for one in week.samples] == [0], "no mean of samples of a time to come"
    sampled.advance(10)
    assert sampled.take()
    assert len(sampled.processes[0].read(after=int(followed.samples[-1]["at"])).samples) == 2


def test_the_memory_is_that_of_each_gpu_once(sampled: Sampled) -> None:
    platform = sampled.platform
    platform.register("w2")
    for worker in ("w1", "w2"):
        gpu = Gpu(0, "GPU-a", "H200", 700, 1000, 0.25)
        memory = DeviceMemory("GPU-a", 1000, 300, (gpu,))
        platform.fleet.report_memory(worker, platform.incarnations[worker], memory)
    sampled.take()
    (sample,) = sampled.processes[0].read().samples
    assert (sample["memory_used_mib"], sample["memory_total_mib"]) == (700, 1000)
    assert sample["gpu_utilization"] == 0.25


def test_the_memory_of_machines_counts_where_there_is_no_gpu(sampled: Sampled) -> None:
    sampled.platform.report_memory(free_mib=60, total_mib=100)
    sampled.take()
    (sample,) = sampled.processes[0].read().samples
    assert (sample["memory_used_mib"], sample["memory_total_mib"]) == (40, 100)


def test_refusals_are_unknown_if_the_processes_report_none(client: redis.Redis, settings: Settings) -> None:
    sampled = Sampled(client, replace(settings, metrics=MetricsSettings(enabled=False)))
    sampled.take()
    sampled.advance(10)
    sampled.take()
    last = sampled.processes[0].read().samples[-1]
    assert (last["refusals_429"], last["output_tokens_per_s"]) == (None, 0)
    assert sampled.processes[0].read(of=("tenant", "acme")).samples[-1]["refusals_429"] is None


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ([0, 0, 0], None),
        ([100, 0, 0], 10),  # 95 % of the first bucket, which ends at 10 ms
        ([90, 10, 0], 55),
        ([0, 0, 5], 100),  # above the last bound
    ],
)
def test_a_quantile_is_interpolated_within_its_bucket(counts: list[int], expected: int | None) -> None:
    assert quantile_ms(counts, (10_000, 100_000)) == expected


def test_a_record_of_another_version_is_no_obstacle(sampled: Sampled) -> None:
    sampled.platform.client.hset(
        f"{sampled.platform.prefix}recent_metrics", "totals", b'{"at": 1, "more": 2}'
    )
    assert sampled.take()
    assert len(sampled.processes[0].read().samples) == 1
