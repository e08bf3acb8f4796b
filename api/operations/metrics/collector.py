"""Turns the state of the platform in Redis into Prometheus' metrics, at each scrape.

The result is used for a second, so that several scrapers cost no more than one. Each command is bounded by a
time-out of its own connection. While Redis cannot be read, `stoker_up` is 0 and nothing else is known.
"""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    SummaryMetricFamily,
)
from prometheus_client.metrics_core import Metric as Family
from prometheus_client.registry import Collector

from api.batches.record import ENDED, ID_PREFIXES, OPEN_STATES, OUTCOMES, Progress, state_of
from api.http.errors import CODES
from api.http.read_cache import ReadCache
from api.operations.metrics.definitions import METRICS
from api.webhooks.target_states import OUTCOMES as DELIVERY_OUTCOMES
from api.webhooks.target_states import TargetState, TargetStates
from config.limits import Budget
from config.settings import Settings
from fleet.engine_report import EngineRow
from fleet.fleet import Fleet
from fleet.memory import Gpu
from fleet.model_row import ModelRow
from fleet.states import ModelState
from fleet.worker_row import WorkerRow
from scheduler.batches import BatchStore
from scheduler.budgets import BudgetReader, BudgetUse
from scheduler.counters import Counters, CounterStore
from store.errors import StokerError
from store.redis_connections import command_client

READ_TIMEOUT_S = 1.0
CACHE_S = 1.0

MIB = 1024 * 1024
OTHER = "other"
MAX_BUDGETS = 200
"""So many tenants have metrics of their budgets."""
EXPIRED = ("lease", "deadline", "worker", "load")
FENCED_CALLS = ("step", "heartbeat")
REFUSALS_OF_LOAD = ("queue_full", "rate_limit_exceeded", "server_busy", "storage_unavailable", "storage_full")
"""Labels that are there from the start, with 0: Prometheus' `increase` does not count the value at which a
series appears, so that an alert would miss the first event."""

STATUSES = {"completed": "success", "incomplete": "success", "failed": "error", "cancelled": "cancelled"}
FAMILIES = {
    "counter": CounterMetricFamily,
    "gauge": GaugeMetricFamily,
    "histogram": HistogramMetricFamily,
    "summary": SummaryMetricFamily,
}


@dataclass(frozen=True, slots=True)
class PlatformState:
    """What one scrape has read."""

    counters: Counters
    models: list[ModelRow]
    workers: list[WorkerRow]
    engines: list[EngineRow]
    batches: list[tuple[bytes, bool]] = field(default_factory=list)
    """The progress of those that have not ended, and whether they are being cancelled."""
    budgets: Mapping[str, BudgetUse] = field(default_factory=dict)
    """What tenants with a budget used of it, by name."""
    webhooks: Mapping[str, TargetState] = field(default_factory=dict)
    """The states of the webhook targets, by name."""


class StateReader:
    """Reads the platform's state, at most once a second. Thread-safe. Raises `StorageUnavailable`.

    `budgets` returns those of the tenants that the process knows, by name.
    """

    def __init__(
        self,
        settings: Settings,
        clock: Callable[[], float] = time.monotonic,
        *,
        budgets: Callable[[], Mapping[str, Budget]] = dict,
    ) -> None:
        client = command_client(settings)
        timeouts = {"socket_timeout": READ_TIMEOUT_S, "socket_connect_timeout": READ_TIMEOUT_S}
        client.connection_pool.connection_kwargs.update(timeouts)
        self._fleet = Fleet(client, settings)
        self._store = CounterStore(client, settings)
        self._batches = BatchStore(client, settings.redis.prefix)
        self._budgets, self._read_budgets = budgets, BudgetReader(client, settings).read
        self._webhooks = TargetStates(client, settings.redis.prefix, settings.webhooks.targets)
        self._states: ReadCache[PlatformState] = ReadCache(
            CACHE_S, keeps_errors=True, from_end=True, clock=clock
        )

    def read(self) -> PlatformState:
        """Return the state; a second's failures are repeated without a new attempt."""
        return self._states.get(None, self._read)

    def _read(self) -> PlatformState:
        return PlatformState(
            self._store.read(),
            self._fleet.rows(),
            self._fleet.workers(),
            self._fleet.engines(),
            self._batches.open_progress(),
            self._read_budgets(self._budgets()),
            self._webhooks.read(),
        )


class Families:
    """The metrics of one scrape, made of `METRICS`."""

    def __init__(self) -> None:
        self._by_name: dict[str, Family] = {
            one.name: FAMILIES[one.type](one.name.removesuffix("_total"), one.about, labels=one.labels)
            for one in METRICS
        }

    def add(self, name: str, value: float, *labels: str) -> None:
        """Add a sample of a counter or gauge."""
        self._by_name[name].add_metric(labels, value)  # type: ignore[attr-defined]

    def add_sums(self, name: str, sums: Iterable[tuple[tuple[str, ...], float]]) -> None:
        """Add one sample for each labels: the sum of their values."""
        totals: defaultdict[tuple[str, ...], float] = defaultdict(float)
        for labels, value in sums:
            totals[labels] += value
        for labels, value in sorted(totals.items()):
            self.add(name, value, *labels)

    def add_counts(
        self,
        name: str,
        counts: Iterable[tuple[Sequence[str], float]],
        always: Iterable[tuple[str, ...]],
    ) -> None:
        """Add the sums as `add_sums` does, and 0 for those of the labels `always` without a value."""
        sums = [(tuple(labels), value) for labels, value in counts]
        self.add_sums(name, [*sums, *((labels, 0) for labels in always)])

    def add_histograms(self, name: str, kind: str, counters: Counters) -> None:
        """Add all histograms of a kind of counter."""
        numbers: defaultdict[tuple[str, ...], dict[str, int]] = defaultdict(dict)
        for words, value in counters.of_kind(kind):
            numbers[tuple(words[:-1])][words[-1]] = value
        for labels, parts in sorted(numbers.items()):
            buckets, count = [], 0
            for place, bound in enumerate((*counters.bounds[kind], None), start=1):
                count += parts.get(str(place), 0)
                buckets.append(("+Inf" if bound is None else str(bound / 1e6), count))
            family = self._by_name[name]
            family.add_metric(labels, buckets=buckets, sum_value=parts.get("sum", 0) / 1e6)  # type: ignore[attr-defined]

    def add_summaries(self, name: str, kind: str, counters: Counters) -> None:
        """Add all summaries of a kind of counter."""
        numbers: defaultdict[tuple[str, ...], dict[str, int]] = defaultdict(dict)
        for words, value in counters.of_kind(kind):
            numbers[tuple(words[:-1])][words[-1]] = value
        for labels, parts in sorted(numbers.items()):
            family = self._by_name[name]
            family.add_metric(labels, parts.get("count", 0), parts.get("sum", 0) / 1e6)  # type: ignore[attr-defined]

    def __iter__(self) -> Iterator[Family]:
        """The metrics in the order of `METRICS`; those without a sample, too."""
        return iter(self._by_name.values())


class PlatformCollector(Collector):
    """The metrics of the platform, as `reader` finds it."""

    def __init__(self, reader: StateReader) -> None:
        self._reader = reader

    def collect(self) -> Iterator[Family]:
        """Read and convert."""
        families = Families()
        try:
            state = self._reader.read()
        except StokerError:
            families.add("stoker_up", 0)
            yield next(iter(families))
            return
        families.add("stoker_up", 1)
        add_requests(families, state.counters)
        add_batches(families, state)
        add_budgets(families, state.budgets)
        add_scheduler(families, state)
        add_models(families, state)
        add_gpus(families, state.workers)
        add_processes(families, state.counters)
        add_webhooks(families, state.webhooks)
        yield from families


def add_media(families: Families, counters: Counters) -> None:
    """Add what was counted of audio and images."""
    processed: Counter[str] = Counter()
    for model, tenant, _, milliseconds in counters.by_model("audio_ms"):
        processed[model] += milliseconds
        if tenant is not None:
            families.add("stoker_audio_seconds_total", milliseconds / 1000, model, tenant)
    for (model,), run_us in counters.of_kind("audio_run_us"):
        families.add("stoker_audio_real_time_factor", run_us / 1000 / max(1, processed[model]), model)
    for name, kind in (("stoker_images_total", "images"), ("stoker_pixel_steps_total", "pixel_steps")):
        families.add_sums(name, ((tuple(labels), count) for labels, count in counters.of_kind(kind)))


def add_requests(families: Families, counters: Counters) -> None:
    """Add what was counted of requests."""
    requests = [
        ((model, tenant, STATUSES.get(status, OTHER)), count)
        for (model, tenant, status), count in counters.of_kind("requests")
    ]
    families.add_counts(
        "vllm_requests_total",
        requests,
        always=[(*labels[:2], status) for labels, _ in requests for status in set(STATUSES.values())],
    )
    families.add_sums(
        "stoker_tokens_total",
        (
            ((model, tenant, kind), count)
            for kind in ("input", "cached", "output")
            for (model, tenant), count in counters.of_kind(f"{kind}_tokens")
        ),
    )
    families.add_sums(
        "stoker_processed_tokens_total",
        (
            ((model, tenant, kind), count)
            for kind in ("input", "output")
            for (model, tenant), count in counters.of_kind(f"processed_{kind}_tokens")
        ),
    )
    add_media(families, counters)
    families.add_histograms("vllm_inference_duration_seconds", "run_time", counters)
    families.add_histograms("stoker_queue_wait_seconds", "queue_wait", counters)
    families.add_histograms("stoker_time_to_first_output_seconds", "first_output", counters)
    families.add_histograms("stoker_time_per_output_token_seconds", "token_time", counters)
    for labels, sums in counters.by_kind.get("cache_hits", ()):
        cached, everything, _ = map(float, sums.split(" "))
        families.add("vllm_cache_hit_rate", cached / everything if everything else 0.0, *labels)
    families.add_sums(
        "stoker_request_failures_total",
        (((model, code_label(code)), count) for (model, code), count in counters.of_kind("failures")),
    )
    families.add_counts(
        "stoker_refusals_total",
        (((code_label(code),), count) for (code,), count in counters.of_kind("refusals")),
        always=[(code,) for code in REFUSALS_OF_LOAD],
    )
    families.add_sums(
        "stoker_tenant_refusals_total",
        (
            ((tenant, code_label(code)), count)
            for (tenant, code), count in counters.of_kind("tenant_refusals")
        ),
    )
    families.add("stoker_uncounted_requests", counters.pending)


def add_batches(families: Families, state: PlatformState) -> None:
    """Add the batches by state, and what became of their lines."""
    found = [(Progress.from_json(progress), is_cancelled) for progress, is_cancelled in state.batches]
    states = [((state_of(progress, is_cancelled=is_cancelled),), 1) for progress, is_cancelled in found]
    families.add_counts("stoker_batches", states, always=[(name,) for name in OPEN_STATES])
    lines = sum(max(0, progress.total - progress.done) for progress, _ in found)
    families.add("stoker_batch_lines_open", lines)
    for name, kind, values in (
        ("stoker_batches_ended_total", "batches", ENDED),
        ("stoker_batch_lines_total", "batch_lines", OUTCOMES),
    ):
        always = [(of, value) for of in ID_PREFIXES for value in values]
        families.add_counts(name, state.counters.of_kind(kind), always=always)


def add_budgets(families: Families, budgets: Mapping[str, BudgetUse]) -> None:
    """Add the used shares of budgets, and their soft bounds: of the tenants with the largest shares."""
    largest = sorted(budgets, key=lambda name: (-budgets[name].share, name))
    for name in largest[:MAX_BUDGETS]:
        use = budgets[name]
        for unit, share in use.shares.items():
            families.add("stoker_tenant_budget_used_ratio", share, name, unit)
            if use.budget.soft is not None:
                families.add("stoker_tenant_budget_soft_ratio", use.budget.soft, name, unit)


def code_label(code: str) -> str:
    """The label for an error code: those of the error table, else `other`."""
    return code if code in CODES else OTHER


def add_scheduler(families: Families, state: PlatformState) -> None:
    """Add the reaper's counts, fenced calls and workers."""
    counters = state.counters
    families.add("stoker_workers", len(state.workers))
    families.add_counts(
        "stoker_expired_total", counters.of_kind("expired"), always=[(what,) for what in EXPIRED]
    )
    families.add(
        "stoker_lease_extensions_total", sum(count for _, count in counters.of_kind("lease_extensions"))
    )
    families.add_counts(
        "stoker_fenced_calls_total", counters.of_kind("fenced"), always=[(call,) for call in FENCED_CALLS]
    )


def add_models(families: Families, state: PlatformState) -> None:
    """Add the models' queues, replicas, memory, loads, crashes and retries."""
    families.add("vllm_queue_depth", sum(row.queue_depth for row in state.models))
    for row in state.models:
        families.add("stoker_queue_depth", row.queue_depth, row.name)
        families.add("stoker_running_requests", row.inflight, row.name)
        families.add("stoker_model_replicas", row.loaded_replicas, row.name)
        families.add("stoker_model_failed", row.state is ModelState.FAILED, row.name)
    known = [engine for engine in state.engines if engine.report.kv_cache_mib is not None]
    families.add_sums(
        "stoker_model_memory_bytes",
        (((engine.model, "kv_cache"), (engine.report.kv_cache_mib or 0) * MIB) for engine in known),
    )
    families.add_sums(
        "stoker_model_memory_bytes",
        (
            ((engine.model, "weights"), max(0.0, engine.memory_mib - (engine.report.kv_cache_mib or 0)) * MIB)
            for engine in known
            if engine.memory_mib
        ),
    )
    for engine in state.engines:
        counted = (("input", engine.report.prompt_tokens), ("cached", engine.report.cached_tokens))
        for kind, tokens in counted:
            families.add(
                "stoker_replica_prompt_tokens_total", tokens or 0, engine.model, engine.replica, kind
            )
    uses: defaultdict[str, list[float]] = defaultdict(list)
    for engine in state.engines:
        if engine.report.kv_cache_use is not None:
            uses[engine.model].append(engine.report.kv_cache_use)
    for model, shares in uses.items():
        families.add("stoker_kv_cache_usage_ratio", sum(shares) / len(shares), model)
    for labels, count in state.counters.of_kind("operations"):
        families.add("stoker_operations_total", count, *labels)
    families.add_summaries("stoker_operation_duration_seconds", "operation_time", state.counters)
    models = [(row.name,) for row in state.models]
    for name, kind in (
        ("stoker_request_retries_total", "retries"),
        ("stoker_engine_crashes_total", "crashes"),
        ("stoker_engine_restarts_total", "restarts"),
    ):
        families.add_counts(name, state.counters.of_kind(kind), always=models)


def labelled_gpus(workers: Iterable[WorkerRow]) -> list[tuple[str, Gpu]]:
    """Each GPU once, with its label: the driver's index, or the UUID where two hosts have the same."""
    gpus = {gpu.uuid: gpu for worker in workers if worker.memory for gpu in worker.memory.gpus}
    indices = Counter(gpu.index for gpu in gpus.values())
    return [
        (str(gpu.index) if indices[gpu.index] == 1 else gpu.uuid, gpu)
        for gpu in sorted(gpus.values(), key=lambda gpu: (gpu.index, gpu.uuid))
    ]


def add_gpus(families: Families, workers: Iterable[WorkerRow]) -> None:
    """Add the GPUs' memory."""
    for label, gpu in labelled_gpus(workers):
        families.add("vllm_gpu_memory_used", gpu.used_mib * MIB, label)
        families.add("stoker_gpu_memory_bytes", gpu.total_mib * MIB, label)


def add_webhooks(families: Families, targets: Mapping[str, TargetState]) -> None:
    """Add what became of the attempts to send to each webhook target."""
    for name, state in targets.items():
        for outcome in DELIVERY_OUTCOMES:
            families.add("stoker_webhook_deliveries_total", state.counts.get(outcome, 0), name, outcome)
        families.add("stoker_webhook_waiting_events", state.waiting, name)
        families.add("stoker_webhook_failing", state.failing_since is not None, name)


def add_processes(families: Families, counters: Counters) -> None:
    """Add the gauges of the API processes."""
    processes = counters.processes
    families.add("stoker_api_processes", len(processes))
    families.add("stoker_api_connections", sum(one["connections"] for one in processes))
    families.add("stoker_api_streams", sum(one["streams"] for one in processes))
    families.add("stoker_api_loop_lag_seconds", max((one["loop_lag_s"] for one in processes), default=0.0))
