"""The bodies of /v1/admin/webhooks."""

from __future__ import annotations

from typing import Any

import marshmallow
from marshmallow import fields


def _described(description: str) -> dict[str, Any]:
    return {"required": True, "metadata": {"description": description}}


def _nullable(description: str) -> dict[str, Any]:
    return {**_described(description), "allow_none": True}


class WebhookTargetObject(marshmallow.Schema):
    """A configured target, and what became of the attempts to send to it."""

    name = fields.String(**_described("The target's name in `webhooks.targets`."))
    host = fields.String(**_described("Of its address, with a port that it has; the path may be a secret."))
    tenant = fields.String(**_nullable("The tenant whose responses it receives; null: alerts alone."))
    events = fields.List(fields.String(), **_described("The types of the events that it receives."))
    waiting = fields.Integer(**_described("The events that wait for it."))
    failing_since = fields.Float(
        **_nullable(
            "When the first attempt after the latest success failed, in unix seconds; null: none did."
        )
    )
    delivered_at = fields.Float(**_nullable("When the latest event arrived, in unix seconds."))
    failed_at = fields.Float(**_nullable("When the latest attempt that failed was, in unix seconds."))
    problem = fields.String(**_nullable("Why that one failed."))
    delivered = fields.Integer(**_described("The events that arrived."))
    failed = fields.Integer(**_described("The attempts that failed, without the last one of an event."))
    given_up = fields.Integer(**_described("The events whose last attempt failed: they are lost."))
    left_out = fields.Integer(**_described("The events of alerts that were left out, since too many waited."))


class WebhookTargetList(marshmallow.Schema):
    """All webhook targets, in the order of the configuration."""

    object = fields.String(required=True, metadata={"enum": ["list"]})
    data = fields.List(fields.Nested(WebhookTargetObject), required=True)


class WebhookTest(marshmallow.Schema):
    """What became of a test event."""

    object = fields.String(required=True, metadata={"enum": ["webhook.test"]})
    target = fields.String(required=True)
    delivered = fields.Boolean(**_described("Whether the target has answered with a status of 200 to 299."))
    problem = fields.String(**_nullable("Why the event did not arrive; null if it did."))
