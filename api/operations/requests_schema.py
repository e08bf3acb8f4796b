"""The response bodies of /v1/admin/requests."""

from __future__ import annotations

import marshmallow
from marshmallow import fields

from api.http.answer_fields import described
from scheduler.job import QUEUE_PRIORITIES
from scheduler.request_history import STATUSES


class RequestTokens(marshmallow.Schema):
    """What the engine counted."""

    input = fields.Integer(required=True)
    output = fields.Integer(required=True)
    cached = fields.Integer(required=True, metadata=described("The input that was in the cache."))
    reasoning = fields.Integer(required=True)
    audioMs = fields.Integer(required=True)  # noqa: N815 - as /v1/admin/jobs writes
    images = fields.Integer(required=True)


class RequestClient(marshmallow.Schema):
    """What is kept of a request's headers: each at most 120 characters, absent without the header."""

    requestId = fields.String(metadata=described("The `x-request-id` of the answer."))  # noqa: N815
    path = fields.String(metadata=described("The route."))
    key = fields.String(metadata=described("The id of the API key."))
    hasIdempotencyKey = fields.Boolean(  # noqa: N815
        metadata=described("True with an Idempotency-Key, which is not kept.")
    )
    userAgent = fields.String()  # noqa: N815
    sdkVersion = fields.String(metadata=described("X-Stainless-Package-Version."))  # noqa: N815
    sdkRuntime = fields.String(metadata=described("X-Stainless-Runtime-Version."))  # noqa: N815
    retryCount = fields.String(  # noqa: N815
        metadata=described("X-Stainless-Retry-Count: how often the SDK has repeated the request.")
    )
    apiVersion = fields.String(metadata=described("anthropic-version."))  # noqa: N815
    priority = fields.String(metadata=described("X-Priority."))
    timeoutMs = fields.String(metadata=described("X-Request-Timeout-Ms."))  # noqa: N815
    contentType = fields.String()  # noqa: N815


class RequestObject(marshmallow.Schema):
    """A request that has ended or was refused: no prompt and no answer. Times are Unix seconds."""

    id = fields.String(
        required=True, metadata=described("The response's id; of a refused request its `x-request-id`.")
    )
    object = fields.String(required=True, metadata={"enum": ["request"]})
    tenant = fields.String(required=True)
    model = fields.String(required=True, allow_none=True)
    api = fields.String(
        required=True,
        allow_none=True,
        metadata=described("The client API: `responses`, `chat`, `anthropic` ...; null if it was refused."),
    )
    priority = fields.String(required=True, allow_none=True, metadata={"enum": [*QUEUE_PRIORITIES, None]})
    status = fields.String(required=True, metadata={"enum": list(STATUSES)})
    code = fields.String(required=True, allow_none=True, metadata=described("The error code."))
    httpStatus = fields.Integer(  # noqa: N815
        required=True,
        allow_none=True,
        metadata=described("Of its code. A stream that had begun before was answered with 200."),
    )
    finishReason = fields.String(required=True, allow_none=True)  # noqa: N815
    createdAt = fields.Float(required=True, allow_none=True, metadata=described("Its admission."))  # noqa: N815
    dispatchedAt = fields.Float(  # noqa: N815
        required=True, allow_none=True, metadata=described("When it got a slot for the last time.")
    )
    endedAt = fields.Float(required=True)  # noqa: N815
    totalMs = fields.Integer(required=True, allow_none=True)  # noqa: N815
    waitedMs = fields.Integer(  # noqa: N815
        required=True,
        allow_none=True,
        metadata=described("Until its last dispatch, or its end; a run before is a part of it."),
    )
    loadMs = fields.Integer(  # noqa: N815
        required=True,
        allow_none=True,
        metadata=described("The part of `waitedMs` until its replica was up, which was loaded meanwhile."),
    )
    firstTokenMs = fields.Integer(  # noqa: N815
        required=True, allow_none=True, metadata=described("From its last dispatch to its first output.")
    )
    runMs = fields.Integer(  # noqa: N815
        required=True, allow_none=True, metadata=described("From its last dispatch to its end.")
    )
    dispatches = fields.Integer(required=True, metadata=described("2 after its replica was lost."))
    worker = fields.String(required=True, allow_none=True)
    replica = fields.String(required=True, allow_none=True)
    movedFrom = fields.String(  # noqa: N815
        required=True, allow_none=True, metadata=described("The replica that was lost under it.")
    )
    tokens = fields.Nested(RequestTokens, required=True, allow_none=True)
    client = fields.Nested(RequestClient, required=True)


class KeptText(marshmallow.Schema):
    """A text of a request, at most 16 KiB of it."""

    text = fields.String(required=True)
    isCut = fields.Boolean(  # noqa: N815
        required=True, metadata=described("Whether a prompt lacks its beginning, or an answer its end.")
    )


class RequestTextsObject(marshmallow.Schema):
    """The prompt and the answer of a request."""

    id = fields.String(required=True)
    object = fields.String(required=True, metadata={"enum": ["request.texts"]})
    prompt = fields.Nested(KeptText, required=True)
    answer = fields.Nested(KeptText, required=True)


class RequestList(marshmallow.Schema):
    """A page of requests, the latest end first."""

    object = fields.String(required=True, metadata={"enum": ["list"]})
    data = fields.List(fields.Nested(RequestObject), required=True)
    has_more = fields.Boolean(required=True)
    next_after = fields.String(
        required=True, allow_none=True, metadata=described("`after` of the next page; null at the end.")
    )
