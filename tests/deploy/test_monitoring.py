"""deploy/ for Prometheus and Grafana fits the metrics that exist."""

from __future__ import annotations

import json
import re
import subprocess

import pytest

from api.http.errors import CODES
from api.operations.metrics.definitions import METRICS
from tests.deploy.monitoring import (
    ALERTS,
    DASHBOARD,
    PROMETHEUS,
    alert_rules,
    dashboard_expressions,
    label_names,
    metric_names,
    program,
)

SUFFIXES = {
    "counter": ("",),
    "gauge": ("",),
    "histogram": ("_bucket", "_sum", "_count"),
    "summary": ("_sum", "_count"),
}
LABELS = {
    one.name + suffix: {*one.labels, *(("le",) if suffix == "_bucket" else ())}
    for one in METRICS
    for suffix in SUFFIXES[one.type]
}
EXPRESSIONS = [
    *((rule["alert"], rule["expr"]) for rule in alert_rules() if "up{" not in rule["expr"]),
    *dashboard_expressions(),
]


@pytest.mark.parametrize(("title", "expression"), EXPRESSIONS)
def test_an_expression_names_metrics_and_labels_that_exist(title: str, expression: str) -> None:
    names = metric_names(expression)
    assert names, title
    assert names <= set(LABELS), title
    assert label_names(expression) <= set().union(*(LABELS[name] for name in names)), title
    for code in re.findall(r'code="(\w+)"', expression):
        assert code in CODES


def test_the_dashboard_shows_every_metric() -> None:
    shown = set().union(*(metric_names(expression) for _, expression in dashboard_expressions()))
    missing = [one.name for one in METRICS if not shown & {one.name + part for part in SUFFIXES[one.type]}]
    assert missing == [
        "stoker_operations_total"
    ]  # `stoker_operation_duration_seconds` counts those that matter


def test_the_panels_of_the_dashboard_have_ids_of_their_own_and_do_not_overlap() -> None:
    panels = json.loads(DASHBOARD.read_text())["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    cells = [
        (panel["gridPos"]["x"] + column, panel["gridPos"]["y"] + line)
        for panel in panels
        for column in range(panel["gridPos"]["w"])
        for line in range(panel["gridPos"]["h"])
    ]
    assert len(set(cells)) == len(cells)
    assert max(column for column, _ in cells) < 24


def test_the_labels_in_the_text_of_an_alert_are_those_of_its_expression() -> None:
    for rule in alert_rules():
        used = set(re.findall(r"\$labels\.(\w+)", rule["annotations"]["summary"]))
        names = metric_names(rule["expr"])
        assert used <= set().union(*(LABELS.get(name, set()) for name in names)), rule["alert"]


@pytest.mark.parametrize(("kind", "path"), [("rules", ALERTS), ("config", PROMETHEUS)])
def test_promtool_finds_no_problem(kind: str, path: object) -> None:
    checked = subprocess.run(
        [program("promtool"), "check", kind, str(path)], capture_output=True, text=True, check=False
    )
    assert checked.returncode == 0, checked.stderr
    assert "SUCCESS" in checked.stdout
