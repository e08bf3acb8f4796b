"""Prometheus and the platform evaluate the rules on the same metrics, and the same alerts fire."""

from __future__ import annotations

import re
import subprocess
from collections import defaultdict
from pathlib import Path

import yaml

from api.operations.alerts.evaluation import Evaluation, evaluate
from api.operations.alerts.rules import BY_NAME, RULES
from api.operations.metrics.collector import PlatformCollector, PlatformState, StateReader
from api.webhooks.target_states import TargetState
from config.limits import Budget
from config.settings import ModelDefinition
from fleet.memory import DeviceMemory, Gpu
from fleet.model_row import ModelRow
from fleet.states import ModelState
from fleet.worker_row import WorkerRow
from scheduler.budgets import BudgetUse
from scheduler.counters import Counters
from tests.deploy.monitoring import ALERTS, metric_names, program

STEP_S, MINUTES = 15, 75
STEPS = range(MINUTES * 60 // STEP_S)
BEGIN = 1_700_000_040.0
"""The begin of a minute."""

SCRAPE_S = 5
"""How long after a multiple of its interval Prometheus scrapes: it evaluates at a multiple."""

WAIT_BOUNDS_US = (1_000_000, 10_000_000, 60_000_000)
USED = set().union(*(metric_names(rule.expression) for rule in RULES))
"""The names of the series that the rules need."""

Alert = tuple[str, str]
"""A rule and the label."""


class Course(StateReader):
    """The state of a platform at a step: the cause of each rule begins and ends, and one is too short."""

    def __init__(self) -> None:
        self._sums: defaultdict[tuple[str, tuple[str, ...]], int] = defaultdict(int)
        self.state = self.next(0)

    def read(self) -> PlatformState:
        """The state of the latest step."""
        return self.state

    def next(self, step: int) -> PlatformState:
        """Go on to the next step."""
        at = step * STEP_S / 60  # minutes
        memory = DeviceMemory("m", 100, 50, (self._gpu(0, 20 <= at < 35), self._gpu(1, 20 <= at < 29)))
        workers = [WorkerRow("gpu0", "cuda", 1, BEGIN, memory=memory)]
        pending = 20_000 if 5 <= at < 10 else 20
        lag = 1.5 if 40 <= at < 45 or 50 <= at < 51 else 0.01
        failed = {"broken": 5 <= at < 12, "well": 5 <= at < 6}
        models = [
            ModelRow(
                name,
                ModelDefinition(name, "stub"),
                ModelState.FAILED if failed[name] else ModelState.LOADED,
                1,
                1,
                0,
                0,
            )
            for name in failed
        ]
        gauges = {"loop_lag_s": lag, "connections": 0, "streams": 0}
        self.state = PlatformState(
            Counters(self._counters(at), {"queue_wait": WAIT_BOUNDS_US}, (gauges,), pending),
            models,
            [] if 60 <= at < 64 else workers,
            [],
            budgets={
                "broken": self._use(90 if 10 <= at < 20 else 120 if 20 <= at < 30 else 10),
                "well": self._use(70),
            },
            webhooks={
                "broken": TargetState(failing_since=BEGIN if 40 <= at < 50 else None),
                "well": TargetState(failing_since=BEGIN if 40 <= at < 43 else None),
            },
        )
        return self.state

    @staticmethod
    def _use(tokens: int) -> BudgetUse:
        return BudgetUse(Budget(tokens=100, soft=0.8), tokens, 0.0, 0)

    @staticmethod
    def _gpu(index: int, is_full: bool) -> Gpu:
        return Gpu(index, f"GPU-{index}", "gpu", 99_000 if is_full else 50_000, 100_000)

    def _counters(self, at: float) -> dict[str, list[tuple[list[str], str]]]:
        """Count what happens within a step."""
        self._add("crashes", "broken", amount=at in (10, 12, 14))
        self._add("crashes", "well", amount=at in (10, 12))
        self._add("expired", "worker", amount=at == 30)
        self._add("refusals", "queue_full", amount=2 * (10 <= at < 20) + (at == 50))
        for model in ("broken", "well"):
            self._add("requests", model, "t", "completed", amount=20)
            self._add("requests", model, "t", "failed", amount=1 + 9 * (model == "broken" and 20 <= at < 35))
            is_slow = model == "broken" and 10 <= at < 25
            self._add("queue_wait", model, "normal", "3" if is_slow else "1", amount=20)
            self._add("queue_wait", model, "normal", "sum", amount=1)
        by_kind: defaultdict[str, list[tuple[list[str], str]]] = defaultdict(list)
        for (kind, labels), value in self._sums.items():
            by_kind[kind].append((list(labels), str(value)))
        return by_kind

    def _add(self, kind: str, *labels: str, amount: int) -> None:
        self._sums[kind, labels] += amount


def run_course() -> tuple[dict[Alert, set[int]], dict[str, list[str]]]:
    """The minutes at which the platform's alerts fire, and the values of each series, by step."""
    course, found = Course(), None
    collector = PlatformCollector(course)
    firing: defaultdict[Alert, set[int]] = defaultdict(set)
    series: defaultdict[str, list[str]] = defaultdict(lambda: ["_"] * len(STEPS))
    for step in STEPS:
        if step:
            course.next(step)
        found, _ = evaluate(found, course.state, BEGIN + step * STEP_S)
        for alert in firing_alerts(found) if step * STEP_S % 60 == 0 else ():
            firing[alert].add(step * STEP_S // 60)
        for family in collector.collect():
            for sample in family.samples:
                if sample.name in USED:
                    labels = ", ".join(f'{name}="{value}"' for name, value in sample.labels.items())
                    series[f"{sample.name}{{{labels}}}"][step] = f"{sample.value:g}"
    return firing, series


def firing_alerts(found: Evaluation) -> list[Alert]:
    return [(one.rule, one.label) for one in found.instances if one.state == "firing"]


def prometheus_firing(series: dict[str, list[str]], folder: Path) -> dict[Alert, set[int]]:
    """The minutes at which the alerts of `deploy/alerts.yml` fire in Prometheus, with these series.

    Each of its tests expects that no alert fires, and so it prints those that do.
    """
    between = ["_"] * (STEP_S // SCRAPE_S - 1)
    inputs = [
        {"series": name, "values": " ".join(["_", *(part for value in values for part in (value, *between))])}
        for name, values in series.items()
    ]
    asked = [
        {"expr": 'ALERTS{alertstate="firing"}', "eval_time": f"{minute}m", "exp_samples": []}
        for minute in range(MINUTES)
    ]
    tests = {
        "rule_files": [str(ALERTS)],
        "evaluation_interval": f"{STEP_S}s",
        "tests": [{"interval": f"{SCRAPE_S}s", "input_series": inputs, "promql_expr_test": asked}],
    }
    file = folder / "tests.yml"
    file.write_text(yaml.safe_dump(tests))
    output = subprocess.run(
        [program("promtool"), "test", "rules", str(file)], capture_output=True, text=True, check=False
    ).stderr
    firing: defaultdict[Alert, set[int]] = defaultdict(set)
    for part in output.split("expr: ")[1:]:
        time = re.search(r"time: (?:(\d+)h)?(?:(\d+)m)?(?:0s)?,", part)
        assert time is not None, part
        minute = 60 * int(time[1] or 0) + int(time[2] or 0)
        for text in re.findall(r"{__name__=\"ALERTS\"[^}]*}", part):
            labels = dict(re.findall(r'(\w+)="([^"]*)"', text))
            firing[labels["alertname"], labels.get(BY_NAME[labels["alertname"]].label, "")].add(minute)
    return firing


def test_the_same_alerts_fire_in_prometheus_and_in_the_platform(tmp_path: Path) -> None:
    platform, series = run_course()
    assert {rule for rule, _ in platform} == {rule.name for rule in RULES if rule.measure}
    assert {label for _, label in platform} == {"", "broken", "0"}, "no cause that is too short or too small"
    prometheus = prometheus_firing(series, tmp_path)
    assert prometheus.keys() == platform.keys()
    for alert, minutes in platform.items():
        own, other = _bounds(minutes), _bounds(prometheus[alert])
        # Prometheus looks at the scrape before, and its windows are not whole minutes
        assert max(abs(own[0] - other[0]), abs(own[1] - other[1])) <= 1, (alert, own, other)
        assert other[1] < MINUTES - 1, f"{alert} does not end"


def _bounds(minutes: set[int]) -> tuple[int, int]:
    """The first and the last of minutes without a gap."""
    first, last = min(minutes), max(minutes)
    assert minutes == set(range(first, last + 1))
    return first, last
