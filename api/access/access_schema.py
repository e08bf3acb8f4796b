"""The bodies of /v1/admin/tenants and /v1/admin/keys."""

from __future__ import annotations

import marshmallow
from marshmallow import fields

from api.http.answer_fields import described
from api.http.strict_fields import BooleanField, EnumField, IntegerField, ListField, NumberField, StringField
from api.http.strict_schema import SchemaMismatch, StrictSchema
from config.api_keys import KEY_SCOPES
from config.fields import MAX_INT
from config.model_schema import MODEL_NAME
from config.rate_limit import RateLimit
from config.settings import PRIORITIES
from config.tenant_schema import TENANT_NAME
from fleet.dynamic_model import NAME

MAX_LABEL = 128
MAX_MODELS = 256
MAX_MODEL_NAME = 256
MODEL = f"(?:{MODEL_NAME}|{NAME.pattern})"
"""The name of a configured or a dynamic model."""
LATEST = 253_402_300_799  # the end of the year 9999
TEXT = r"[^\x00-\x1f\x7f-\x9f\u2028\u2029]*"  # it is shown on terminals


class RateLimitField(StringField):
    """A rate limit as text, such as `100req/min`."""

    def __init__(self, description: str) -> None:
        super().__init__(description, min_length=1, max_length=64, example="100req/min")

    def check(self, value: object) -> None:
        """Validate a value. Raises `SchemaMismatch`."""
        super().check(value)
        try:
            RateLimit(str(value))
        except ValueError:
            raise SchemaMismatch("must be a rate limit such as 100req/min (s, min, hour or day)") from None


class TenantFields(StrictSchema):
    """Fields of a tenant. Null: as for a tenant without the field."""

    closed = True  # an unknown limit must not be ignored silently
    unknown_field = "is not a tenant field that can be set"

    weight = NumberField(
        "Its share when several tenants wait in one priority.", minimum=0.001, maximum=1_000_000
    )
    max_priority = EnumField("The highest priority of its requests.", PRIORITIES)
    rate_limit = RateLimitField("Requests.")
    token_limit = RateLimitField("Tokens of prompts and answers.")
    max_running = IntegerField("Requests that run.", minimum=1, maximum=MAX_INT)
    max_waiting = IntegerField("Requests that wait for one model.", minimum=0, maximum=MAX_INT)
    max_streams = IntegerField("Clients that wait or stream, per API process.", minimum=1, maximum=MAX_INT)
    max_readers = IntegerField("Readers of one response, per API process.", minimum=1, maximum=MAX_INT)
    max_bytes = IntegerField(
        "Bytes of its large requests and stored responses.", minimum=1, maximum=2**53 - 1
    )
    budget_tokens = IntegerField(
        "Tokens of its ended requests in a calendar month (UTC); null: no bound.",
        minimum=1,
        maximum=2**53 - 1,
    )
    budget_gpu_s = IntegerField(
        "Seconds in slots of its ended requests in a calendar month (UTC); null: no bound.",
        minimum=1,
        maximum=MAX_INT,
    )
    budget_soft = NumberField(
        "The share of a budget from which an alert fires; null: none does.", minimum=0.01, maximum=1
    )
    receipts = BooleanField("Whether its requests get receipts.")
    may_load = BooleanField("Whether its keys load and unload the models that they may use.")
    comfyui_workflows = BooleanField("Whether its requests may bring workflows (/v1/comfyui/prompts).")
    keep_texts = BooleanField(
        "Whether the history of requests keeps their prompts and answers. False deletes those that it has."
    )


class TenantBody(TenantFields):
    """A new tenant."""

    name = StringField("Its name.", required=True, max_length=64, pattern=TENANT_NAME, example="acme")


class KeyFields(StrictSchema):
    """Fields of an API key. Null: as for a key without the field."""

    closed = True
    unknown_field = "is not a key field that can be set"

    scopes = ListField(
        "What it is for; `inference` unless set. `governance` only by a key that has it.",
        EnumField("A scope.", KEY_SCOPES),
        min_items=1,
        max_items=len(KEY_SCOPES),
    )
    models = ListField(
        "The models that its requests may name; all unless set.",
        StringField("A model.", min_length=1, max_length=MAX_MODEL_NAME, pattern=MODEL),
        min_items=1,
        max_items=MAX_MODELS,
    )
    expires_at = IntegerField(
        "The end of its life, in Unix seconds; none unless set.", minimum=0, maximum=LATEST
    )
    label = StringField("A note for people.", max_length=MAX_LABEL, pattern=TEXT)


class KeyBody(KeyFields):
    """A new API key."""

    tenant = StringField("Its tenant.", required=True, max_length=64, pattern=TENANT_NAME, example="acme")


class TenantObject(marshmallow.Schema):
    """A tenant. A limit that is null is that of the configuration for all tenants; null is no budget."""

    name = fields.String(required=True)
    object = fields.String(required=True, metadata={"enum": ["tenant"]})
    weight = fields.Float(required=True)
    max_priority = fields.String(required=True, metadata={"enum": list(PRIORITIES)})
    rate_limit = fields.String(required=True, allow_none=True)
    token_limit = fields.String(required=True, allow_none=True)
    max_running = fields.Integer(required=True, allow_none=True)
    max_waiting = fields.Integer(required=True, allow_none=True)
    max_streams = fields.Integer(required=True, allow_none=True)
    max_readers = fields.Integer(required=True, allow_none=True)
    max_bytes = fields.Integer(required=True, allow_none=True)
    budget_tokens = fields.Integer(required=True, allow_none=True)
    budget_gpu_s = fields.Integer(required=True, allow_none=True)
    budget_soft = fields.Float(required=True, allow_none=True)
    receipts = fields.Boolean(required=True)
    may_load = fields.Boolean(required=True)
    comfyui_workflows = fields.Boolean(required=True)
    keep_texts = fields.Boolean(required=True)
    keys = fields.Integer(required=True, metadata=described("How many keys it has."))
    is_configured = fields.Boolean(
        required=True, metadata=described("Whether the configuration has it; then no command removes it.")
    )
    configured = fields.List(
        fields.String(),
        required=True,
        metadata=described("The fields that the configuration sets; no command changes them."),
    )
    ignored = fields.List(
        fields.String(),
        required=True,
        metadata=described("Of these, the fields that a command had set before: they have no effect."),
    )
    created_at = fields.Float(
        required=True, allow_none=True, metadata=described("When a command made or changed it first.")
    )


class KeyObject(marshmallow.Schema):
    """An API key, without the key itself. Times are Unix seconds."""

    id = fields.String(required=True)
    object = fields.String(required=True, metadata={"enum": ["api_key"]})
    tenant = fields.String(required=True)
    scopes = fields.List(fields.String(metadata={"enum": list(KEY_SCOPES)}), required=True)
    models = fields.List(
        fields.String(), required=True, allow_none=True, metadata=described("Null: all models.")
    )
    label = fields.String(required=True)
    hint = fields.String(required=True, metadata=described("The last characters of the key."))
    created_at = fields.Float(required=True, allow_none=True)
    expires_at = fields.Float(required=True, allow_none=True)
    has_expired = fields.Boolean(required=True)
    last_used_at = fields.Float(
        required=True, allow_none=True, metadata=described("To two seconds; null: never.")
    )
    is_configured = fields.Boolean(
        required=True, metadata=described("Whether it is in the configuration; then no command changes it.")
    )


class CreatedKey(KeyObject):
    """A new API key. This answer alone has the key itself."""

    key = fields.String(required=True)


class Page(marshmallow.Schema):
    """The keys of a page of a list."""

    object = fields.String(required=True, metadata={"enum": ["list"]})
    has_more = fields.Boolean(required=True)
    first_id = fields.String(required=True, allow_none=True)
    last_id = fields.String(required=True, allow_none=True, metadata=described("The next page's `after`."))


class TenantList(Page):
    """A page of tenants, by name."""

    needs_proposal = fields.Boolean(
        required=True,
        metadata=described("Whether changes of tenants and keys need the signatures of a proposal."),
    )
    data = fields.List(fields.Nested(TenantObject), required=True)


class KeyList(Page):
    """A page of keys, by id."""

    data = fields.List(fields.Nested(KeyObject), required=True)


class RemovedTenant(marshmallow.Schema):
    """A tenant that was removed."""

    name = fields.String(required=True)
    object = fields.String(required=True, metadata={"enum": ["tenant"]})
    deleted = fields.Boolean(required=True)
    revoked_keys = fields.Integer(required=True)


class RevokedKey(marshmallow.Schema):
    """A key that was revoked."""

    id = fields.String(required=True)
    object = fields.String(required=True, metadata={"enum": ["api_key"]})
    deleted = fields.Boolean(required=True)
