"""The response body of /v1/governance/receipts."""

from __future__ import annotations

from typing import Any

import marshmallow
from marshmallow import fields


def _about(description: str) -> dict[str, Any]:
    return {"description": description}


class AnswerDigests(marshmallow.Schema):
    """The digests of an answer (SHA-256, hex)."""

    textSha256 = fields.String(required=True, metadata=_about("Of the answer's text in UTF-8."))  # noqa: N815
    sha256 = fields.String(
        required=True,
        metadata=_about('Of `{"text", "toolCalls": [{"name", "arguments"}]}` as RFC 8785 writes it.'),
    )


class ReceiptLoad(marshmallow.Schema):
    """A load of the model."""

    operation = fields.String(required=True)
    loadedAt = fields.Float(required=True, metadata=_about("Unix time in seconds."))  # noqa: N815
    actor = fields.String(required=True, metadata=_about("A tenant, or `platform`."))
    authority = fields.String(required=True)
    signers = fields.List(fields.String(), metadata=_about("Those who signed it, if it needed signatures."))
    proposal = fields.String(metadata=_about("The proposal that they signed."))


class Receipt(marshmallow.Schema):
    """A receipt; the times are Unix times in seconds."""

    object = fields.Constant("receipt")
    responseId = fields.String(required=True)  # noqa: N815
    tenant = fields.String(required=True)
    model = fields.String(required=True)
    status = fields.String(required=True, metadata=_about("Of the response."))
    admittedAt = fields.Float(required=True)  # noqa: N815
    endedAt = fields.Float(required=True, allow_none=True)  # noqa: N815
    requestSha256 = fields.String(  # noqa: N815
        required=True, metadata=_about("SHA-256 (hex) of the request's body, as it was received.")
    )
    answer = fields.Nested(AnswerDigests, required=True, allow_none=True, metadata=_about("Null: not ended."))
    definition = fields.String(
        required=True,
        allow_none=True,
        metadata=_about("The digest of the model's definition, as plans of loads have it."),
    )
    loadedBy = fields.Nested(  # noqa: N815
        ReceiptLoad,
        required=True,
        allow_none=True,
        metadata=_about("The load by which the model served; null for a request that did not run."),
    )
    approvedBy = fields.Nested(  # noqa: N815
        ReceiptLoad,
        required=True,
        allow_none=True,
        metadata=_about(
            "The latest load of this definition that a caller asked for: another one if the platform loaded "
            "the model again by itself."
        ),
    )
    runner = fields.String(required=True, metadata=_about("The id of the platform."))
    keyId = fields.String(required=True)  # noqa: N815
    publicKey = fields.String(required=True)  # noqa: N815
    signature = fields.String(required=True)
