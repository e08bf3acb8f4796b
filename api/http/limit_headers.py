"""What a tenant has left of its limits, as headers of OpenAI's API or Anthropic's."""

from __future__ import annotations

import time
from collections.abc import Iterable
from datetime import UTC, datetime

from store.limit_state import LimitState


def limit_headers(limits: Iterable[LimitState]) -> dict[str, str]:
    """`x-ratelimit-limit-`, `-remaining-` and `-reset-` of requests and tokens; none without a limit.

    As in OpenAI's guide "Rate limits".
    """
    headers = {}
    for limit in limits:
        headers[f"x-ratelimit-limit-{limit.kind}"] = str(limit.most)
        headers[f"x-ratelimit-remaining-{limit.kind}"] = str(limit.remaining)
        headers[f"x-ratelimit-reset-{limit.kind}"] = duration_text(limit.reset_s)
    return headers


def anthropic_limit_headers(limits: Iterable[LimitState]) -> dict[str, str]:
    """The same as Anthropic's API writes it (its reference, "Rate limits"); resets are times (RFC 3339)."""
    headers = {}
    for limit in limits:
        reset = datetime.fromtimestamp(time.time() + limit.reset_s, UTC).isoformat(timespec="seconds")
        headers[f"anthropic-ratelimit-{limit.kind}-limit"] = str(limit.most)
        headers[f"anthropic-ratelimit-{limit.kind}-remaining"] = str(limit.remaining)
        headers[f"anthropic-ratelimit-{limit.kind}-reset"] = reset.replace("+00:00", "Z")
    return headers


def duration_text(seconds: float) -> str:
    """A duration as OpenAI writes it: 12ms, 1s, 8.64s, 6m0s, 23h59m30s. Rounded up to milliseconds."""
    milliseconds = -int(-seconds * 1000 // 1)
    if milliseconds < 1000:
        return f"{max(0, milliseconds)}ms"
    minutes, milliseconds = divmod(milliseconds, 60_000)
    text = f"{milliseconds / 1000:.3f}".rstrip("0").rstrip(".") + "s"
    if minutes:
        hours, minutes = divmod(minutes, 60)
        text = f"{hours}h{minutes}m{text}" if hours else f"{minutes}m{text}"
    return text
