"""What the rules compare with their thresholds: values by the label that tells a rule's instances apart.

Each function is the platform's form of the expression of its rule (`rules.py`); "" is the label of a rule
that has one value for the whole platform.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from api.operations.alerts.growth import Growth
from api.operations.metrics.collector import PlatformState, labelled_gpus
from api.operations.metrics.sample import quantile_ms
from fleet.states import ModelState

FIVE_MINUTES_S, FIFTEEN_MINUTES_S = 300, 900
Values = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Reading:
    """What one evaluation looks at."""

    state: PlatformState
    growth: Growth


def worker_count(reading: Reading) -> Values:
    """The registered workers."""
    return {"": len(reading.state.workers)}


def failed_models(reading: Reading) -> Values:
    """1 for each model that has failed, else 0."""
    return {row.name: float(row.state is ModelState.FAILED) for row in reading.state.models}


def crashes(reading: Reading) -> Values:
    """The crashes of each model's engines within 15 minutes."""
    return {**reading.growth.within(FIFTEEN_MINUTES_S, "crashes")}


def failing_share(reading: Reading) -> Values:
    """The share of each model's requests of 5 minutes that have failed."""
    failed = reading.growth.within(FIVE_MINUTES_S, "failed")
    ended = reading.growth.within(FIVE_MINUTES_S, "ended")
    return {model: failed.get(model, 0) / count for model, count in ended.items()}


def refusals_of_full_queues(reading: Reading) -> Values:
    """The requests per second that were refused because a queue was full, over 5 minutes."""
    refused = sum(reading.growth.within(FIVE_MINUTES_S, "queue_full").values())
    return {"": refused / reading.growth.covered_s(FIVE_MINUTES_S)}


def waits(reading: Reading) -> Values:
    """The 95th percentile of the time in the queue (seconds) of each model's requests of 5 minutes."""
    bounds = reading.state.counters.bounds.get("queue_wait", ())
    buckets: dict[str, list[int]] = {}
    for labels, count in reading.growth.within(FIVE_MINUTES_S, "wait").items():
        model, _, bucket = labels.rpartition(" ")
        if 1 <= int(bucket) <= len(bounds) + 1:
            buckets.setdefault(model, [0] * (len(bounds) + 1))[int(bucket) - 1] += count
    quantiles = {model: quantile_ms(counts, bounds) for model, counts in buckets.items()}
    return {model: found / 1000 for model, found in quantiles.items() if found is not None}


def lost_workers(reading: Reading) -> Values:
    """The workers that were removed within 15 minutes, since they sent no heartbeat."""
    return {"": sum(reading.growth.within(FIFTEEN_MINUTES_S, "workers_lost").values())}


def uncounted_requests(reading: Reading) -> Values:
    """The ended requests that wait to be counted."""
    return {"": reading.state.counters.pending}


def loop_lag(reading: Reading) -> Values:
    """The longest delay (seconds) of an API process's event loop."""
    return {"": max((one["loop_lag_s"] for one in reading.state.counters.processes), default=0.0)}


def budgets_beyond_soft(reading: Reading) -> Values:
    """The largest used share of each tenant's budgets that is at its soft bound or above it."""
    return {tenant: use.share for tenant, use in reading.state.budgets.items() if use.is_beyond_soft}


def budgets(reading: Reading) -> Values:
    """The largest used share of each tenant's budgets."""
    return {tenant: use.share for tenant, use in reading.state.budgets.items()}


def failing_webhooks(reading: Reading) -> Values:
    """1 for each webhook target whose latest attempt has failed, else 0."""
    return {name: float(one.failing_since is not None) for name, one in reading.state.webhooks.items()}


def gpu_memory_share(reading: Reading) -> Values:
    """The share of each GPU's memory that is in use."""
    return {
        label: gpu.used_mib / gpu.total_mib
        for label, gpu in labelled_gpus(reading.state.workers)
        if gpu.total_mib
    }
