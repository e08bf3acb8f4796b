"""The bodies of /v1/admin/alerts."""

from __future__ import annotations

import marshmallow
from marshmallow import fields

from api.http.answer_fields import nullable, required
from api.http.strict_fields import IntegerField, StringField
from api.http.strict_schema import StrictSchema
from api.operations.alerts.rules import SEVERITIES

MAX_NOTE = 500
MAX_HOURS = 24 * 30
STATES = ("firing", "pending", "resolved", "inactive", "not_evaluated")


class AcknowledgementBody(StrictSchema):
    """An acknowledgement of the alerts of a rule."""

    closed = True

    note = StringField("For other operators, and for the audit record.", max_length=MAX_NOTE, example="on it")
    hours = IntegerField(
        "How long it holds; null: until the alerts are resolved, which ends it in any case.",
        minimum=1,
        maximum=MAX_HOURS,
        example=4,
    )


class AlertAcknowledgement(marshmallow.Schema):
    """Who knows of the alerts of a rule: those that fired at that time."""

    actor = fields.String(**required("The tenant whose key acknowledged them."))
    at = fields.Float(**required("When the evaluation was that it is about, in unix seconds."))
    made_at = fields.Float(**required("When they were acknowledged, in unix seconds."))
    until = fields.Float(**nullable("Unix seconds; null: until the alerts are resolved."))
    note = fields.String(required=True)


class AlertInstance(marshmallow.Schema):
    """A rule holds, or has lately, for these labels."""

    labels = fields.Dict(
        keys=fields.String(),
        values=fields.String(),
        **required("`model`, `tenant`, `gpu`, `target`, or none."),
    )
    state = fields.String(required=True, metadata={"enum": ["firing", "pending", "resolved"]})
    since = fields.Float(**required("When this state began, in unix seconds."))
    value = fields.Float(**required("The latest value for which the rule holds or did."))
    summary = fields.String(**required("The rule in words, with the value."))
    acknowledged = fields.Boolean(**required("Whether it fired when the rule's alerts were acknowledged."))


class AlertObject(marshmallow.Schema):
    """A rule, and the alerts that it makes."""

    name = fields.String(required=True)
    severity = fields.String(required=True, metadata={"enum": list(SEVERITIES)})
    state = fields.String(
        required=True,
        metadata={
            "enum": list(STATES),
            "description": "The first of these that one of its instances has. `resolved`: it fired within "
            "the last day. `not_evaluated`: only an observer outside the platform can: Prometheus.",
        },
    )
    since = fields.Float(**nullable("When the first instance in this state began to be, in unix seconds."))
    value = fields.Float(**nullable("The value of that instance."))
    unit = fields.String(
        required=True,
        metadata={"enum": ["number", "share", "seconds"], "description": "Of the values; a share is 0 to 1."},
    )
    summary = fields.String(**nullable("That instance in words; null without one."))
    condition = fields.String(**required("In PromQL, as Prometheus evaluates it."))
    hold_s = fields.Integer(**required("How long it has to be true before an alert fires, in seconds."))
    runbook = fields.String(**required("The section of the documentation about it."))
    acknowledged = fields.Boolean(**required("Whether all of its alerts that fire are acknowledged."))
    acknowledgement = fields.Nested(AlertAcknowledgement, **nullable("The latest one that is not over."))
    acknowledged_at = fields.Float(
        **nullable("`at` of the latest acknowledgement, kept for a day also when its alerts are resolved.")
    )
    instances = fields.List(fields.Nested(AlertInstance), required=True)


class AlertList(marshmallow.Schema):
    """All rules, in the order of the table in `deploy/alerts.yml`."""

    object = fields.String(required=True, metadata={"enum": ["list"]})
    now = fields.Float(**required("The time of the answer, by Redis' clock, in unix seconds."))
    evaluated_at = fields.Float(
        **nullable("When the rules were evaluated, in unix seconds: each 15 s. Null before the first time.")
    )
    unacknowledged = fields.Integer(**required("The rules with an alert that fires unacknowledged."))
    data = fields.List(fields.Nested(AlertObject), required=True)
