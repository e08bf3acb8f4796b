"""The rules: one table, of which `deploy/alerts.yml` and the platform's own list of alerts are made."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from api.operations.alerts import measures
from api.operations.alerts.measures import Reading, Values

Severity = Literal["critical", "warning"]
Unit = Literal["number", "share", "seconds"]
SEVERITIES: tuple[Severity, ...] = ("critical", "warning")
COMPARISONS: Mapping[str, Callable[[float, float], bool]] = {
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
}
RUNBOOK = "docs/operations.md#alerts"


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule. It holds where a value compares with the threshold as `comparison` says.

    `expression` is the value in PromQL; `measure` finds the same value in the platform's state, None where
    only an observer outside can. `label` is the label of the values, "" for one value. `hold_s` is how long
    the rule has to hold before the alert fires. `summary` may contain `{label}` and `{value}`, which is
    written in `unit`.
    """

    name: str
    severity: Severity
    expression: str
    comparison: Literal[">", ">=", "=="]
    threshold: float
    hold_s: int
    summary: str
    label: str = ""
    unit: Unit = "number"
    measure: Callable[[Reading], Values] | None = None

    @property
    def condition(self) -> str:
        """The expression with the threshold, in PromQL."""
        return f"{self.expression} {self.comparison} {self.threshold:g}"

    @property
    def window_s(self) -> int:
        """The time over which the expression looks at the growth of counters; 0: it is about the moment."""
        return max((60 * int(minutes) for minutes in re.findall(r"\[(\d+)m]", self.expression)), default=0)

    def holds(self, value: float) -> bool:
        """Whether the rule holds for a value."""
        return COMPARISONS[self.comparison](value, self.threshold)

    def text(self, label: str, value: float) -> str:
        """The summary for a value."""
        return self.summary.format(label=label, value=in_words(value, self.unit))


def in_words(value: float, unit: Unit) -> str:
    """A value with its unit, to three digits or to the unit."""
    if unit == "share":
        return f"{100 * value:.3g} %"
    number = f"{value:.3g}" if value < 100 else f"{value:,.0f}"
    return f"{number} s" if unit == "seconds" else number


RULES = (
    Rule(
        "StokerNotScraped",
        "critical",
        'up{job="stoker"}',
        "==",
        0,
        60,
        "No API process of Stoker answers.",
    ),
    Rule(
        "StokerRedisUnreachable",
        "critical",
        "stoker_up",
        "==",
        0,
        30,
        "Stoker's API cannot read Redis, so it refuses requests.",
    ),
    Rule(
        "StokerNoWorker",
        "critical",
        "stoker_workers",
        "==",
        0,
        60,
        "No worker is registered, so no model can answer.",
        measure=measures.worker_count,
    ),
    Rule(
        "StokerModelFailed",
        "critical",
        "stoker_model_failed",
        "==",
        1,
        120,
        "Model {label} has failed: `stoker status` shows why.",
        label="model",
        measure=measures.failed_models,
    ),
    Rule(
        "StokerEngineCrashes",
        "warning",
        "increase(stoker_engine_crashes_total[15m])",
        ">",
        2.5,  # Prometheus extrapolates: two crashes are 2.03
        0,
        "Engines of {label} crashed {value} times within 15 minutes.",
        label="model",
        measure=measures.crashes,
    ),
    Rule(
        "StokerRequestsFail",
        "warning",
        'sum by (model) (rate(vllm_requests_total{status="error"}[5m])) / '
        "sum by (model) (rate(vllm_requests_total[5m]))",
        ">",
        0.05,
        300,
        "{value} of the requests to {label} fail.",
        label="model",
        unit="share",
        measure=measures.failing_share,
    ),
    Rule(
        "StokerQueueFull",
        "warning",
        'rate(stoker_refusals_total{code="queue_full"}[5m])',
        ">",
        0,
        300,
        "Requests are refused because a queue is full: {value} per second.",
        measure=measures.refusals_of_full_queues,
    ),
    Rule(
        "StokerLongWait",
        "warning",
        "histogram_quantile(0.95, sum by (le, model) (rate(stoker_queue_wait_seconds_bucket[5m])))",
        ">",
        30,
        300,
        "5 % of the requests to {label} wait longer than {value}.",
        label="model",
        unit="seconds",
        measure=measures.waits,
    ),
    Rule(
        "StokerWorkersLost",
        "warning",
        'increase(stoker_expired_total{what="worker"}[15m])',
        ">",
        0,
        0,
        "Workers that sent no heartbeat and were removed within 15 minutes: {value}.",
        measure=measures.lost_workers,
    ),
    Rule(
        "StokerUncountedRequests",
        "warning",
        "stoker_uncounted_requests",
        ">",
        10000,
        60,
        "{value} ended requests are not counted, so usage and these metrics fall behind.",
        measure=measures.uncounted_requests,
    ),
    Rule(
        "StokerLoopLag",
        "warning",
        "stoker_api_loop_lag_seconds",
        ">",
        1,
        120,
        "The event loop of an API process is {value} late: it has too much work.",
        unit="seconds",
        measure=measures.loop_lag,
    ),
    Rule(
        "StokerTenantBudgetSoft",
        "warning",
        "max by (tenant) (stoker_tenant_budget_used_ratio >= stoker_tenant_budget_soft_ratio)",
        ">",
        0,
        0,
        "Tenant {label} has used {value} of its budget of the month: its soft bound is reached.",
        label="tenant",
        unit="share",
        measure=measures.budgets_beyond_soft,
    ),
    Rule(
        "StokerTenantBudgetExceeded",
        "warning",
        "max by (tenant) (stoker_tenant_budget_used_ratio)",
        ">=",
        1,
        0,
        "Tenant {label} has used {value} of its budget of the month: its requests are refused.",
        label="tenant",
        unit="share",
        measure=measures.budgets,
    ),
    Rule(
        "StokerGpuMemoryFull",
        "warning",
        "vllm_gpu_memory_used / stoker_gpu_memory_bytes",
        ">",
        0.98,
        600,
        "{value} of the memory of GPU {label} is in use.",
        label="gpu",
        unit="share",
        measure=measures.gpu_memory_share,
    ),
    Rule(
        "StokerWebhookFails",
        "warning",
        "stoker_webhook_failing",
        "==",
        1,
        300,
        "The webhook target {label} does not receive events: the page Alerts shows why.",
        label="target",
        measure=measures.failing_webhooks,
    ),
)

BY_NAME = {rule.name: rule for rule in RULES}
