"""The response bodies of /v1/governance/audit."""

from __future__ import annotations

import marshmallow
from marshmallow import fields


class AuditRecordObject(marshmallow.Schema):
    """A record of the audit chain."""

    number = fields.Integer(required=True, metadata={"description": "From 1, without gaps."})
    at = fields.Float(required=True, metadata={"description": "Unix time in seconds, by Redis' clock."})
    actor = fields.String(required=True, metadata={"description": "A tenant, or `platform`."})
    authority = fields.String(
        required=True,
        metadata={"description": "How it was authorised: `admin key`, `op token`, `proposal`, `platform`."},
    )
    action = fields.String(required=True, metadata={"description": "`load`, `unload`, `create_key`, ..."})
    subject = fields.String(required=True, metadata={"description": "The model, tenant, key, ..."})
    outcome = fields.String(
        required=True,
        metadata={"description": "`begun`, `completed`, `failed`, `cancelled`, `done` or `refused`."},
    )
    detail = fields.Dict(keys=fields.String(), required=True)
    entry = fields.String(required=True, metadata={"description": "Its id while it waited for the chain."})
    previous = fields.String(required=True, metadata={"description": "The digest of the record before."})
    digest = fields.String(
        required=True,
        metadata={"description": "SHA-256 of the record without this field, as RFC 8785 writes it."},
    )


class AuditPage(marshmallow.Schema):
    """A page of the audit chain."""

    object = fields.Constant("list")
    data = fields.List(fields.Nested(AuditRecordObject), required=True)
    damaged = fields.List(
        fields.Integer(), required=True, metadata={"description": "The numbers of records that were changed."}
    )
    has_more = fields.Boolean(required=True)
    next_after = fields.Integer(
        required=True, allow_none=True, metadata={"description": "`after` of the next page; null: none."}
    )


class AuditHead(marshmallow.Schema):
    """The signed head of the chain."""

    number = fields.Integer(required=True, metadata={"description": "Of the last record; 0 without one."})
    digest = fields.String(required=True)
    at = fields.Float(required=True, metadata={"description": "When it was signed, Unix time in seconds."})
    runner = fields.String(required=True, metadata={"description": "The id of the platform."})
    keyId = fields.String(required=True)  # noqa: N815 - the field's name
    publicKey = fields.String(  # noqa: N815
        required=True, metadata={"description": "Ed25519, base64 of 32 bytes."}
    )
    signature = fields.String(required=True, metadata={"description": "base64 of 64 bytes."})
