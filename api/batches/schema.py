"""The bodies and objects of /v1/batches (OpenAI API reference, "Batch")."""

from __future__ import annotations

from marshmallow import Schema, fields

from api.batches.endpoints import OF_OPENAI
from api.files.upload import MAX_LIFETIME_S, MIN_LIFETIME_S
from api.http.strict_fields import EnumField, IntegerField, MetadataField, NestedField, StringField
from api.http.strict_schema import StrictSchema

STATUSES = (
    "validating",
    "failed",
    "in_progress",
    "finalizing",
    "completed",
    "expired",
    "cancelling",
    "cancelled",
)


class OutputExpiry(StrictSchema):
    """How long the files with the results are kept."""

    anchor = EnumField("From when: the creation of the file.", ("created_at",), required=True)
    seconds = IntegerField(
        "How long, in seconds.", required=True, minimum=MIN_LIFETIME_S, maximum=MAX_LIFETIME_S
    )


class BatchRequest(StrictSchema):
    """The body of POST /v1/batches."""

    input_file_id = StringField("A file of the purpose `batch`.", required=True, max_length=64)
    endpoint = EnumField("The endpoint of all its lines.", tuple(OF_OPENAI), required=True)
    completion_window = EnumField("The time for all lines.", ("24h",), required=True)
    metadata = MetadataField("Kept with the batch.")
    output_expires_after = NestedField("Unless set, they are kept until they are deleted.", OutputExpiry)


def _time(name: str) -> fields.Integer:
    about = f"When it {name}: Unix time in seconds; null: it has not."
    return fields.Integer(required=True, allow_none=True, metadata={"description": about})


class BatchProblem(Schema):
    """A problem of the input."""

    code = fields.String(required=True)
    message = fields.String(required=True)
    line = fields.Integer(required=True, allow_none=True, metadata={"description": "Counted from 1."})
    param = fields.String(required=True, allow_none=True)


class BatchProblems(Schema):
    """The problems of the input, at most about 100."""

    object = fields.String(required=True)
    data = fields.List(fields.Nested(BatchProblem), required=True)


class BatchCounts(Schema):
    """The lines of a batch."""

    total = fields.Integer(required=True)
    completed = fields.Integer(required=True, metadata={"description": "Those in the output file."})
    failed = fields.Integer(required=True, metadata={"description": "Those in the error file."})


class BatchObject(Schema):
    """A batch."""

    id = fields.String(required=True)
    object = fields.String(required=True)
    endpoint = fields.String(required=True)
    model = fields.String(required=True, allow_none=True, metadata={"description": "Always null."})
    errors = fields.Nested(BatchProblems, required=True, allow_none=True)
    input_file_id = fields.String(required=True)
    completion_window = fields.String(required=True)
    status = fields.String(required=True, metadata={"enum": list(STATUSES)})
    output_file_id = fields.String(required=True, allow_none=True)
    error_file_id = fields.String(required=True, allow_none=True)
    created_at = fields.Integer(required=True)
    in_progress_at = _time("began")
    expires_at = fields.Integer(required=True)
    finalizing_at = _time("had its last outcome")
    completed_at = _time("was completed")
    failed_at = _time("failed")
    expired_at = _time("expired")
    cancelling_at = _time("was asked to be cancelled")
    cancelled_at = _time("was cancelled")
    request_counts = fields.Nested(BatchCounts, required=True)
    usage = fields.Dict(required=True, metadata={"description": "The tokens of all lines."})
    metadata = fields.Dict(required=True, allow_none=True, keys=fields.String(), values=fields.String())


class BatchList(Schema):
    """A page of batches."""

    object = fields.String(required=True)
    data = fields.List(fields.Nested(BatchObject), required=True)
    first_id = fields.String(required=True, allow_none=True)
    last_id = fields.String(required=True, allow_none=True)
    has_more = fields.Boolean(required=True)
