"""llama-server's `timings` of an answer (tools/server/README.md of llama.cpp, "Timings").

They are computed from the end of the event log alone, so that a stream that is read again has the same ones.
"""

from __future__ import annotations

from typing import Any

from streams.events import End, Usage


def timings(end: End) -> dict[str, Any]:
    """The member `timings`: counts of tokens, milliseconds, and what follows from them.

    `cache_n` tokens of the prompt were not computed again, `prompt_n` were. The prompt takes the time until
    the first output, the prediction the rest; without that time everything counts as prediction, unless
    nothing was predicted. Something divided by nothing is 0.
    """
    usage = end.usage or Usage()
    prompt_ms = end.first_ms
    if prompt_ms is None:
        prompt_ms = 0 if usage.output_tokens else end.run_ms
    prompt_ms = min(prompt_ms, end.run_ms)
    return {
        "cache_n": usage.cached_tokens,
        **_speed("prompt", max(0, usage.input_tokens - usage.cached_tokens), prompt_ms),
        **_speed("predicted", usage.output_tokens, end.run_ms - prompt_ms),
    }


def _speed(kind: str, tokens: int, took_ms: int) -> dict[str, Any]:
    return {
        f"{kind}_n": tokens,
        f"{kind}_ms": float(took_ms),
        f"{kind}_per_token_ms": took_ms / tokens if tokens else 0.0,
        f"{kind}_per_second": 1000 * tokens / took_ms if took_ms else 0.0,
    }
