"""The bodies of /v1/admin/webhooks."""

from __future__ import annotations

import marshmallow
from marshmallow import fields

from api.http.answer_fields import nullable, required


class WebhookTargetObject(marshmallow.Schema):
    """A configured target, and what became of the attempts to send to it."""

    name = fields.String(**required("The target's name in `webhooks.targets`."))
    host = fields.String(**required("Of its address, with a port that it has; the path may be a secret."))
    tenant = fields.String(**nullable("The tenant whose responses it receives; null: alerts alone."))
    events = fields.List(fields.String(), **required("The types of the events that it receives."))
    waiting = fields.Integer(**required("The events that wait for it."))
    failing_since = fields.Float(
        **nullable("When the first attempt after the latest success failed, in unix seconds; null: none did.")
    )
    delivered_at = fields.Float(**nullable("When the latest event arrived, in unix seconds."))
    failed_at = fields.Float(**nullable("When the latest attempt that failed was, in unix seconds."))
    problem = fields.String(**nullable("Why that one failed."))
    delivered = fields.Integer(**required("The events that arrived."))
    failed = fields.Integer(**required("The attempts that failed, without the last one of an event."))
    given_up = fields.Integer(**required("The events whose last attempt failed: they are lost."))
    left_out = fields.Integer(**required("The events of alerts that were left out, since too many waited."))


class WebhookTargetList(marshmallow.Schema):
    """All webhook targets, in the order of the configuration."""

    object = fields.String(required=True, metadata={"enum": ["list"]})
    data = fields.List(fields.Nested(WebhookTargetObject), required=True)


class WebhookTest(marshmallow.Schema):
    """What became of a test event."""

    object = fields.String(required=True, metadata={"enum": ["webhook.test"]})
    target = fields.String(required=True)
    delivered = fields.Boolean(**required("Whether the target has answered with a status of 200 to 299."))
    problem = fields.String(**nullable("Why the event did not arrive; null if it did."))
