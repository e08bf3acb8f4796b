"""Reads the requests of the governed lifecycle.

A body is read twice as strictly as others: nothing in it may have two readings, since parts of it are signed.
So it has no unknown field and no key twice.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from flask import Request

from api.approvals.lifecycle.schema import BODIES
from api.http.errors import ApiError, InvalidRequest
from api.http.request_body import read_bytes
from api.http.strict_schema import SchemaMismatch
from governance.op_tokens import strict_json

TOKEN = "verifiedOpToken"  # noqa: S105 - the name of a field
PROPOSE = "propose"
MAX_BYTES = 64 * 1024
MAX_DEPTH = 16


@dataclass(frozen=True, slots=True)
class LifecycleRequest:
    """An operation, and its parameters as they are done: `body` has no opToken, no `propose` and no null.

    A proposal keeps `body`, and `parse` makes the request of it again.
    """

    operation: str
    body: Mapping[str, Any]

    @property
    def model(self) -> str | None:
        """The model that it names."""
        return self.body.get("modelId")


def read_lifecycle_body(request: Request) -> dict[str, Any]:
    """The JSON object of a request's body. Raises `ApiError` (400, 413, 415)."""
    data = read_bytes(request)
    if len(data) > MAX_BYTES:
        raise ApiError(f"the body is larger than {MAX_BYTES} bytes", code="request_too_large")
    try:
        body = strict_json.parse(data, max_bytes=MAX_BYTES, max_depth=MAX_DEPTH, fractions=True)
    except strict_json.InvalidJson as error:
        raise ApiError(f"the body is not accepted: {error}", code="invalid_json") from None
    if not isinstance(body, dict):
        raise InvalidRequest("the body must be an object")
    return body


def parse(operation: str, body: Mapping[str, Any]) -> LifecycleRequest:
    """The request of a body. Raises `InvalidRequest`, which names the field."""
    checked = dict(body)
    try:
        BODIES[operation].check(checked)  # and makes 5 of 5.0 where an integer is wanted
    except SchemaMismatch as error:
        path = error.path or None
        raise InvalidRequest(f"{path or 'the body'} {error.message}", param=path) from None
    given = {
        name: value for name, value in checked.items() if value is not None and name not in (TOKEN, PROPOSE)
    }
    return LifecycleRequest(operation, given)
