"""The response bodies of /v1/admin/limits: what tenants use of their limits, and how often they met one."""

from __future__ import annotations

from typing import Any

import marshmallow
from marshmallow import fields

from api.access.access_schema import Page

LIMITS = ("requests", "tokens", "running", "waiting", "bytes", "budget")


def _about(description: str) -> dict[str, Any]:
    return {"description": description}


class WindowUse(marshmallow.Schema):
    """What is left of a limit of requests or tokens."""

    most = fields.Integer(required=True, metadata=_about("Within the window."))
    window_s = fields.Integer(required=True)
    at_once = fields.Integer(
        required=True,
        metadata=_about(
            "Admitted at once when all are free: `most`, or a tenth of more than 2,000 requests."
        ),
    )
    remaining = fields.Integer(required=True, metadata=_about("Of these, those that are free now."))
    reset_s = fields.Float(required=True, metadata=_about("The time until all are free again."))


class CountUse(marshmallow.Schema):
    """How many there are, and the limit."""

    most = fields.Integer(required=True, allow_none=True, metadata=_about("Null: no limit."))
    used = fields.Integer(required=True)


class WaitingUse(marshmallow.Schema):
    """The waiting requests. The limit is for each model."""

    most = fields.Integer(required=True)
    used = fields.Integer(
        required=True, metadata=_about("Those that wait for `model`, of which most of them wait.")
    )
    model = fields.String(required=True, allow_none=True)
    all_models = fields.Integer(required=True)


class TimeUse(marshmallow.Schema):
    """How many seconds were used, and the budget."""

    most = fields.Integer(required=True, allow_none=True, metadata=_about("Null: no bound."))
    used = fields.Float(required=True)


class BudgetUse(marshmallow.Schema):
    """What requests used that ended in the current month (UTC), and the budget."""

    tokens = fields.Nested(CountUse, required=True)
    gpu_s = fields.Nested(TimeUse, required=True, metadata=_about("Seconds in slots."))
    soft = fields.Float(
        required=True,
        allow_none=True,
        metadata=_about("The share from which an alert fires; null: none does."),
    )
    resets_at = fields.Integer(required=True, metadata=_about("The end of the month, in Unix seconds."))


class RefusalCount(marshmallow.Schema):
    """Answers with one error code."""

    code = fields.String(required=True)
    status = fields.Integer(required=True, metadata={"enum": [429, 503]})
    last_5_minutes = fields.Integer(required=True)
    last_hour = fields.Integer(required=True)


class TenantLimits(marshmallow.Schema):
    """What a tenant uses of its limits now, and its requests that were answered with 429 or 503 lately."""

    tenant = fields.String(required=True)
    object = fields.String(required=True, metadata={"enum": ["tenant.limits"]})
    requests = fields.Nested(WindowUse, required=True, allow_none=True, metadata=_about("Null: no limit."))
    tokens = fields.Nested(WindowUse, required=True, allow_none=True, metadata=_about("Null: no limit."))
    running = fields.Nested(CountUse, required=True)
    waiting = fields.Nested(WaitingUse, required=True)
    bytes = fields.Nested(CountUse, required=True)
    budget = fields.Nested(BudgetUse, required=True, allow_none=True, metadata=_about("Null: no budget."))
    at_limit = fields.List(
        fields.String(metadata={"enum": list(LIMITS)}),
        required=True,
        metadata=_about("The limits of which nothing is left."),
    )
    refusals = fields.List(
        fields.Nested(RefusalCount),
        required=True,
        metadata=_about("By error code, of the last hour."),
    )


class TenantLimitsList(Page):
    """A page of tenants, by name."""

    data = fields.List(fields.Nested(TenantLimits), required=True)
