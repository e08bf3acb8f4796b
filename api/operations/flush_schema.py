"""The body of a flush of prefix caches."""

from __future__ import annotations

import marshmallow
from marshmallow import fields

from api.http.strict_fields import EnumField, StringField
from api.http.strict_schema import StrictSchema
from config.tenant_schema import TENANT_NAME
from fleet.flush import SCOPE_KINDS


class FlushBody(StrictSchema):
    """Whose cached prefixes are flushed. A field that the scope does not name has to be absent or null."""

    closed = True  # an unknown field may mean a narrower scope
    unknown_field = "is not a field of a flush"

    scope = EnumField(
        "`all`: everything. `model`: all prefixes of a model. `tenant`: those of a tenant, on all models. "
        "`tag`: those of a tenant's requests with one `X-Cache-Tag`, on all models.",
        SCOPE_KINDS,
        required=True,
    )
    model = StringField("With scope `model`: its name.", min_length=1, max_length=256)
    tenant = StringField(
        "With scope `tenant` or `tag`: its name, also one that only `X-Tenant-ID` names.",
        max_length=64,
        pattern=TENANT_NAME,
    )
    tag = StringField("With scope `tag`: the tag.", max_length=64, pattern=r"[\x21-\x7e]{1,64}")


class FlushScopeObject(marshmallow.Schema):
    """The scope of a flush; null for what it does not name."""

    kind = fields.String(required=True, metadata={"enum": list(SCOPE_KINDS)})
    model = fields.String(required=True, allow_none=True)
    tenant = fields.String(required=True, allow_none=True)
    tag = fields.String(required=True, allow_none=True)


class FlushedModel(marshmallow.Schema):
    """A loaded model whose engines a flush concerns."""

    model = fields.String(required=True)
    replicas = fields.Integer(required=True, metadata={"description": "Those that accept requests."})
    running_requests = fields.Integer(required=True)


class FlushProblem(marshmallow.Schema):
    """Why a flush would be refused."""

    code = fields.String(required=True)
    message = fields.String(required=True)


class FlushPlan(marshmallow.Schema):
    """What a flush would concern at this moment."""

    scope = fields.Nested(FlushScopeObject, required=True)
    begins = fields.Boolean(required=True, metadata={"description": "Whether it would begin now."})
    problem = fields.Nested(FlushProblem, required=True, allow_none=True)
    namespaces = fields.String(
        required=True,
        metadata={"description": "The cache namespaces that get new names, in words."},
    )
    models = fields.List(fields.Nested(FlushedModel), required=True)
    replicas = fields.Integer(required=True, metadata={"description": "Of all these models."})
    running_requests = fields.Integer(
        required=True,
        metadata={"description": "They go on, and leave nothing behind in a cache."},
    )
