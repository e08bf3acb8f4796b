"""The error for a call of a tool when too many wait."""

from __future__ import annotations

from api.http.errors import ApiError

RETRY_S = 5


def too_many_calls(_of_tenant: bool) -> ApiError:
    """Return the error."""
    return ApiError("too many calls of tools are waiting", code="too_many_tool_calls", retry_after_s=RETRY_S)
