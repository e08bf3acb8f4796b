"""What was measured of a response: as headers of a whole answer, and in the last event of a stream."""

from __future__ import annotations

from typing import Any

from streams.events import End, PromptProgress

MEASUREMENT_HEADERS = ("X-Cache-Hit", "X-Cache-Tokens-Reused", "X-Queue-Wait-Ms", "X-GPU-Time-Ms")

UNMEASURED_CODE = "stream_lost"
"""The code of an end that the API made up, because it could not read the ledger's."""


def measurements(end: End) -> dict[str, Any]:
    """The member of a stream's last event: `{"measurements": {...}}`, empty if nothing is known.

    Cached tokens are those of the prompt that the engine did not compute again; milliseconds are those of
    Redis' clock, from the admission to the dispatch and from there to the end. The time until the first
    output, from the dispatch on, is null where it is not known.
    """
    if end.code == UNMEASURED_CODE:
        return {}
    reused = end.usage.cached_tokens if end.usage else 0
    return {
        "measurements": {
            "cache_hit": reused > 0,
            "cache_tokens_reused": reused,
            "queue_wait_ms": end.queue_ms,
            "gpu_time_ms": end.run_ms,
            **({} if end.first_ms is None else {"first_output_ms": end.first_ms}),
        }
    }


def prompt_progress(progress: PromptProgress) -> dict[str, Any]:
    """How much of a prompt has been read, as llama-server tells it (tools/server/README.md of llama.cpp)."""
    return {
        "total": progress.total,
        "cache": progress.cached,
        "processed": progress.processed,
        "time_ms": progress.time_ms,
    }


def early_headers(*, waited_ms: int | None, may_reuse: bool) -> dict[str, str]:
    """The headers that are known before the end: the wait (None: it is not), and for a prompt that may not
    reuse cached prefixes that it has reused none."""
    headers = {} if may_reuse else {"X-Cache-Hit": "false", "X-Cache-Tokens-Reused": "0"}
    return headers if waited_ms is None else {**headers, "X-Queue-Wait-Ms": str(waited_ms)}


def measurement_headers(end: End) -> dict[str, str]:
    """The same as headers."""
    if end.code == UNMEASURED_CODE:
        return {}
    reused = end.usage.cached_tokens if end.usage else 0
    values = ("true" if reused else "false", str(reused), str(end.queue_ms), str(end.run_ms))
    return dict(zip(MEASUREMENT_HEADERS, values, strict=True))


NOT_RUN = measurement_headers(End("failed"))
"""The headers of an answer to a request that was not admitted: it neither waited nor ran."""
