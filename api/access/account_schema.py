"""The response bodies of /v1/account."""

from __future__ import annotations

import marshmallow
from marshmallow import fields

from api.access.tenant_limits_schema import TenantLimits
from api.access.usage_schema import UsageReport, UsageTotals
from config.settings import PRIORITIES
from scheduler.usage import KEY_GROUPS


class Account(marshmallow.Schema):
    """A tenant, as its own keys see it."""

    object = fields.Constant("account")
    tenant = fields.String(required=True)
    key = fields.String(
        required=True, allow_none=True, metadata={"description": "The id of the request's own key."}
    )
    models = fields.List(
        fields.String(),
        required=True,
        allow_none=True,
        metadata={"description": "The models that this key may use; null: all."},
    )
    max_priority = fields.String(required=True, metadata={"enum": list(PRIORITIES)})
    keep_texts = fields.Boolean(
        required=True,
        metadata={
            "description": "Whether the history of requests keeps prompts and answers of this tenant, which "
            "administrators can read."
        },
    )
    limits = fields.Nested(TenantLimits, required=True)


class KeyUsageRow(UsageTotals):
    """The usage of a tenant, by what `group_by` names: the other two are missing."""

    day = fields.Date(metadata={"description": "UTC."})
    model = fields.String(metadata={"description": "`other`: further rows than are kept."})
    key = fields.String(
        allow_none=True,
        metadata={
            "description": "The key's id; null: none of the tenant's own, or one that `/v1/account/keys` "
            "does not list; `other`: as of `model`."
        },
    )
    key_label = fields.String(metadata={"description": "The label of the key, while it is there."})


class KeyUsageReport(UsageReport):
    """The usage of a tenant by day, model and key."""

    tenant = fields.String(required=True)
    group_by = fields.List(fields.String(metadata={"enum": list(KEY_GROUPS)}), required=True)
    data = fields.List(fields.Nested(KeyUsageRow), required=True)
