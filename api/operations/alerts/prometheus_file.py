"""`python -m api.operations.alerts.prometheus_file > deploy/alerts.yml`: the rules for Prometheus."""

from __future__ import annotations

from api.operations.alerts.rules import RULES, RUNBOOK, Rule

HEAD = """\
# Alerts of one platform, made of api/operations/alerts/rules.py:
#   python -m api.operations.alerts.prometheus_file > deploy/alerts.yml
# `stoker_up` is 0 while Redis cannot be read.
groups:
  - name: stoker
    rules:
"""
FILTERS = {"number": "humanize", "share": "humanizePercentage", "seconds": "humanizeDuration"}


def rules_file() -> str:
    """The text of `deploy/alerts.yml`."""
    return HEAD + "".join(map(_entry, RULES))


def _entry(rule: Rule) -> str:
    label, value = f"{{{{ $labels.{rule.label} }}}}", f"{{{{ $value | {FILTERS[rule.unit]} }}}}"
    summary = rule.summary.format(label=label, value=value)
    lines = [
        f"      - alert: {rule.name}",
        f"        expr: {_quoted(rule.condition)}",
        *([f"        for: {rule.hold_s}s"] if rule.hold_s else []),
        f"        labels: {{severity: {rule.severity}}}",
        "        annotations:",
        f"          summary: {_quoted(summary)}",
        f"          runbook: {RUNBOOK}",
    ]
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


if __name__ == "__main__":
    print(rules_file(), end="")
