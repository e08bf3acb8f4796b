"""Alerts as JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from api.operations.alerts.evaluation import Instance
from api.operations.alerts.rules import RULES, RUNBOOK, Rule
from api.operations.alerts.schema import STATES
from api.operations.alerts.store import Acknowledgement, AlertStates

Json = dict[str, Any]


def serialize_alerts(states: AlertStates) -> Json:
    """The body of `GET /v1/admin/alerts`."""
    data = [serialize_alert(rule, states) for rule in RULES]
    return {
        "object": "list",
        "now": states.now,
        "evaluated_at": states.evaluated_at,
        "unacknowledged": sum(one["state"] == "firing" and not one["acknowledged"] for one in data),
        "data": data,
    }


def serialize_alert(rule: Rule, states: AlertStates) -> Json:
    """A rule with its instances, the most urgent first."""
    known, latest = states.acknowledgement(rule), states.acknowledgements.get(rule.name)
    instances = states.of_rule(rule)
    instances.sort(key=lambda one: (STATES.index(one.state), one.since, one.label))
    firing = [one for one in instances if one.state == "firing"]
    first = instances[0] if instances else None
    return {
        "name": rule.name,
        "severity": rule.severity,
        "state": first.state if first else "inactive" if rule.measure else "not_evaluated",
        "since": first.since if first else None,
        "value": first.value if first else None,
        "unit": rule.unit,
        "summary": rule.text(first.label, first.value) if first else None,
        "condition": rule.condition,
        "hold_s": rule.hold_s,
        "runbook": RUNBOOK,
        "acknowledged": known is not None and all(map(known.covers, firing)),
        "acknowledgement": asdict(known) if known else None,
        "acknowledged_at": latest.at if latest else None,
        "instances": [_serialize_instance(rule, one, known) for one in instances],
    }


def _serialize_instance(rule: Rule, instance: Instance, known: Acknowledgement | None) -> Json:
    return {
        "labels": {rule.label: instance.label} if rule.label else {},
        "state": instance.state,
        "since": instance.since,
        "value": instance.value,
        "summary": rule.text(instance.label, instance.value),
        "acknowledged": known is not None and known.covers(instance),
    }
