"""The headers of every request for a generation: as OpenAPI describes them, and what they ask for.

`X-Cache-Mode` and `X-Cache-Tag` choose how the prompt meets the engine's prefix cache. The tag alone opens
nothing: it is one of the inputs of the cache namespace (`governance.cache_namespaces`), as the tenant is.

`X-Request-Timeout-Ms` bounds the wait and the run of a request together. SDKs announce their own time-out:
OpenAI's for Python and Anthropic's send `x-stainless-read-timeout`, those for JavaScript
`x-stainless-timeout`, both in seconds. The first is the longest silence that the client bears, the second its
longest wait for the head of the answer. Both end in the same moment for an answer in one piece, before which
nothing is sent: the client gives up then. A stream sends keep-alives, and has begun long before, so for a
stream they limit nothing.
"""

from __future__ import annotations

import re
from typing import Literal, Protocol

from api.http.errors import InvalidRequest
from api.http.parameters import header_parameter, integer_text
from api.inference.autoload import AUTOLOAD
from config.settings import PRIORITIES
from generation.generation import CacheMode

CACHE_MODES = ("prefix", "none", "auto")
MAX_TAG_CHARS = 64
MAX_CONVERSATION_ID_CHARS = 512
OnDisconnect = Literal["cancel", "finish", "detach"]
DISCONNECT_CHOICES: tuple[OnDisconnect, ...] = ("cancel", "finish", "detach")
MAX_TIMEOUT_MS = 86_400_000
SDK_TIMEOUTS = ("x-stainless-read-timeout", "x-stainless-timeout")

_MODE: dict[str, CacheMode] = {"prefix": "prefix", "none": "none", "auto": "prefix"}
_TAG = re.compile(rf"[\x21-\x7e]{{1,{MAX_TAG_CHARS}}}")
_CONVERSATION_ID = re.compile(rf"[\x20-\x7e]{{1,{MAX_CONVERSATION_ID_CHARS}}}")
_SECONDS = re.compile(r"[0-9]{1,8}(\.[0-9]{0,9})?")

PRIORITY = header_parameter(
    "X-Priority",
    "The request's priority in the queue, at most the tenant's maximum. Normal unless set.",
    enum=list(PRIORITIES),
)
IDEMPOTENCY_KEY = header_parameter(
    "Idempotency-Key",
    "A repeat with the same key and the same body within 15 minutes gets the first request's response.",
    minLength=1,
    maxLength=255,
    pattern="^[!-~]+$",
)
REQUEST_TIMEOUT = {
    "name": "X-Request-Timeout-Ms",
    "in": "header",
    "description": "The request's time limit in milliseconds, for its wait in the queue and its run together:"
    " after it the request ends with `deadline_exceeded`, and never reaches an engine if it still waits.",
    "schema": {"type": "integer", "minimum": 1, "maximum": MAX_TIMEOUT_MS},
}
CACHE_MODE = header_parameter(
    "X-Cache-Mode",
    "`none`: nothing of this prompt comes from a cache, and nothing of it stays in one. `prefix` reuses what "
    "the engine has of an earlier prompt of the same tenant and tag; `auto`, the default, is the same.",
    enum=list(CACHE_MODES),
)
CACHE_TAG = header_parameter(
    "X-Cache-Tag",
    "A cache of its own within the tenant's: prompts share cached prefixes only with those of the same tag.",
    minLength=1,
    maxLength=MAX_TAG_CHARS,
    pattern="^[!-~]+$",
)
CONVERSATION_ID = header_parameter(
    "X-Conversation-Id",
    "The client's own id, by which `/v1/stream/{conv_id}` sends this answer's bytes again. The generation"
    " goes on when the client disconnects; a running one of the same id is cancelled.",
    minLength=1,
    maxLength=MAX_CONVERSATION_ID_CHARS,
    pattern="^[ -~]+$",
)
ON_DISCONNECT = header_parameter(
    "X-On-Disconnect",
    "What happens when the client disconnects before the end. `cancel`, the default: the generation ends."
    " `finish`: it goes on. `detach`, the default with `X-Conversation-Id`: it goes on, and its bytes can be"
    " read again, without such a header by the answer's id.",
    enum=list(DISCONNECT_CHOICES),
)
GENERATION_HEADERS = (PRIORITY, REQUEST_TIMEOUT, IDEMPOTENCY_KEY, CACHE_MODE, CACHE_TAG, AUTOLOAD)
"""The headers of every request to a model, and its query parameter."""

ANSWER_HEADERS = (*GENERATION_HEADERS, CONVERSATION_ID, ON_DISCONNECT)
"""The headers of every request whose answer may be a stream."""


class Headers(Protocol):
    """Header fields by case-insensitive name."""

    def get(self, name: str, /) -> str | None:
        """The field's value; None when there is no such field."""
        ...


def cache_mode_of(headers: Headers) -> CacheMode:
    """The mode for an `X-Cache-Mode` header. Raises `InvalidRequest`.

    `auto`, the default, is `prefix`: every engine that can reuse a prefix does.
    """
    value = headers.get("X-Cache-Mode")
    if value is None:
        return "prefix"
    mode = _MODE.get(value.strip().lower())
    if mode is None:
        raise InvalidRequest(f"X-Cache-Mode must be one of {', '.join(CACHE_MODES)}", param="X-Cache-Mode")
    return mode


def cache_tag_of(headers: Headers) -> str | None:
    """The tag of an `X-Cache-Tag` header, None without one. Raises `InvalidRequest`."""
    tag = headers.get("X-Cache-Tag")
    if tag is not None and not _TAG.fullmatch(tag):
        raise InvalidRequest(
            f"X-Cache-Tag must be 1 to {MAX_TAG_CHARS} visible ASCII characters", param="X-Cache-Tag"
        )
    return tag


def check_conversation_id(id: str, param: str) -> str:
    """The conversation id, as a client sends it as `param`. Raises `InvalidRequest`."""
    if not _CONVERSATION_ID.fullmatch(id):
        raise InvalidRequest(
            f"{param} must be 1 to {MAX_CONVERSATION_ID_CHARS} printable ASCII characters", param=param
        )
    return id


def conversation_id_of(headers: Headers) -> str | None:
    """The id of an `X-Conversation-Id` header, None without one. Raises `InvalidRequest`."""
    id = headers.get("X-Conversation-Id")
    return check_conversation_id(id, "X-Conversation-Id") if id else None


def on_disconnect_of(headers: Headers) -> OnDisconnect:
    """What a request with these headers does when its client disconnects. Raises `InvalidRequest`."""
    given = headers.get("X-On-Disconnect")
    if given is None:
        return "detach" if headers.get("X-Conversation-Id") else "cancel"
    for choice in DISCONNECT_CHOICES:
        if given.strip().lower() == choice:
            return choice
    raise InvalidRequest(
        f"X-On-Disconnect must be one of {', '.join(DISCONNECT_CHOICES)}", param="X-On-Disconnect"
    )


def time_limit_ms(headers: Headers, *, in_one_piece: bool) -> int | None:
    """The limit of a request with these headers; None without one.

    Raises `InvalidRequest` for a malformed X-Request-Timeout-Ms. An SDK's header that is not understood is
    ignored: the client did not write it.
    """
    limits = [] if not in_one_piece else [limit for name in SDK_TIMEOUTS if (limit := _sdk_ms(headers, name))]
    given = headers.get("X-Request-Timeout-Ms")
    if given is not None:
        limits.append(integer_text("X-Request-Timeout-Ms", given, 1, MAX_TIMEOUT_MS))
    return min(limits, default=None)


def _sdk_ms(headers: Headers, name: str) -> int:
    """The limit in an SDK's header; 0 for none."""
    value = headers.get(name)
    if value is None or not _SECONDS.fullmatch(value):
        return 0
    return min(int(float(value) * 1000), MAX_TIMEOUT_MS)
