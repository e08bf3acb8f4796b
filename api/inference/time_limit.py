"""The time limit of a request, which bounds its wait and its run together.

`X-Request-Timeout-Ms` sets it. SDKs announce their own time-out: OpenAI's for Python and Anthropic's send
`x-stainless-read-timeout`, those for JavaScript `x-stainless-timeout`, both in seconds. The first is the
longest silence that the client bears, the second its longest wait for the head of the answer. Both end in the
same moment for an answer in one piece, before which nothing is sent: the client gives up then. A stream sends
keep-alives, and has begun long before, so for a stream they limit nothing.
"""

from __future__ import annotations

import re
from typing import Protocol

from api.http.parameters import integer_text

HEADER = "X-Request-Timeout-Ms"
MAX_MS = 86_400_000
SDK_HEADERS = ("x-stainless-read-timeout", "x-stainless-timeout")

_SECONDS = re.compile(r"[0-9]{1,8}(\.[0-9]{0,9})?")


class Headers(Protocol):
    """Header fields by case-insensitive name."""

    def get(self, name: str, /) -> str | None:
        """The field's value; None when there is no such field."""
        ...


def time_limit_ms(headers: Headers, *, in_one_piece: bool) -> int | None:
    """The limit of a request with these headers; None without one.

    Raises `InvalidRequest` for a malformed X-Request-Timeout-Ms. An SDK's header that is not understood is
    ignored: the client did not write it.
    """
    limits = [] if not in_one_piece else [limit for name in SDK_HEADERS if (limit := _sdk_ms(headers, name))]
    given = headers.get(HEADER)
    if given is not None:
        limits.append(integer_text(HEADER, given, 1, MAX_MS))
    return min(limits, default=None)


def _sdk_ms(headers: Headers, name: str) -> int:
    """The limit in an SDK's header; 0 for none."""
    value = headers.get(name)
    if value is None or not _SECONDS.fullmatch(value):
        return 0
    return min(int(float(value) * 1000), MAX_MS)
