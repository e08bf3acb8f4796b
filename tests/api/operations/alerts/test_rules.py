"""The rules: Prometheus and the platform have the same ones."""

from __future__ import annotations

import re

import pytest

from api.operations.alerts.prometheus_file import rules_file
from api.operations.alerts.rules import BY_NAME, RULES, RUNBOOK, SEVERITIES, Rule, in_words
from config.settings import ROOT
from tests.deploy.monitoring import ALERTS, alert_rules

ONLY_PROMETHEUS = {"StokerNotScraped", "StokerRedisUnreachable"}
"""Without an API process or Redis there is nothing that could evaluate them."""


def test_the_file_for_prometheus_is_that_of_the_table() -> None:
    assert ALERTS.read_text() == rules_file()


def test_each_rule_for_prometheus_has_the_severity_threshold_and_duration_of_the_platforms() -> None:
    read = {}
    for entry in alert_rules():
        threshold = re.search(r"(==|>=?) ([\d.]+)$", entry["expr"])
        assert threshold is not None
        held = int(entry.get("for", "0s").removesuffix("s"))
        read[entry["alert"]] = (entry["labels"]["severity"], threshold[1], float(threshold[2]), held)
    assert read == {
        rule.name: (rule.severity, rule.comparison, rule.threshold, rule.hold_s) for rule in RULES
    }
    assert {rule.severity for rule in RULES} == set(SEVERITIES)


def test_each_rule_but_those_about_the_platforms_absence_has_a_measure() -> None:
    assert {rule.name for rule in RULES if rule.measure is None} == ONLY_PROMETHEUS


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_the_summary_of_a_rule_has_its_label_and_no_other_place(rule: Rule) -> None:
    assert set(re.findall(r"{(\w+)}", rule.summary)) <= {"value", *(["label"] if rule.label else [])}
    assert "{" not in rule.text("demo", 0.5)


def test_a_value_is_written_in_the_unit_of_its_rule() -> None:
    assert [in_words(0.0625, "share"), in_words(61.24, "seconds"), in_words(3, "number")] == [
        "6.25 %",
        "61.2 s",
        "3",
    ]
    assert BY_NAME["StokerRequestsFail"].text("demo", 0.5) == "50 % of the requests to demo fail."


def test_the_runbook_has_a_line_for_each_rule() -> None:
    page, _, anchor = RUNBOOK.partition("#")
    _, _, section = (ROOT / page).read_text().partition(f"\n## {anchor.title()}\n")
    named = re.findall(r"^\| `(Stoker\w+)` \|", section.partition("\n## ")[0], re.MULTILINE)
    assert named == [rule.name for rule in RULES]
