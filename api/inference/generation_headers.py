"""The headers of every request for a generation, as OpenAPI describes them."""

from __future__ import annotations

from api.http.parameters import header_parameter
from api.inference.cache_control import CACHE_MODES, MAX_TAG_CHARS
from api.inference.time_limit import MAX_MS
from config.settings import PRIORITIES

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
    "schema": {"type": "integer", "minimum": 1, "maximum": MAX_MS},
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
GENERATION_HEADERS = (PRIORITY, REQUEST_TIMEOUT, IDEMPOTENCY_KEY, CACHE_MODE, CACHE_TAG)
"""The headers of every request for a generation."""
