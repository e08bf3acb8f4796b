"""What a tenant has left of its limits, as the headers of OpenAI's API (its guide "Rate limits")."""

from __future__ import annotations

from collections.abc import Iterable

from scheduler.job import LimitState


def limit_headers(limits: Iterable[LimitState]) -> dict[str, str]:
    """`x-ratelimit-limit-`, `-remaining-` and `-reset-` of requests and tokens; none without a limit."""
    headers = {}
    for limit in limits:
        headers[f"x-ratelimit-limit-{limit.kind}"] = str(limit.most)
        headers[f"x-ratelimit-remaining-{limit.kind}"] = str(limit.remaining)
        headers[f"x-ratelimit-reset-{limit.kind}"] = duration_text(limit.reset_s)
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
