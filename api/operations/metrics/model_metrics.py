"""GET /metrics?model=: the measurements of one model under llama-server's names, as far as Stoker has them.

What only an engine could count is left out: seconds of prompts and of generation and the rates that follow
from them, decode calls, the longest sequence, drafts.
"""

from __future__ import annotations

from typing import NamedTuple

from api.operations.metrics.collector import PlatformState
from fleet.catalogue import unknown_model

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class ModelMetric(NamedTuple):
    """A metric of llama-server: its name behind `llamacpp:`, its type, and one sentence on it."""

    name: str
    type: str
    about: str


METRICS = (
    ModelMetric(
        "prompt_tokens_total", "counter", "Number of prompt tokens processed, excluding cached tokens"
    ),
    ModelMetric("prompt_tokens_cached_total", "counter", "Number of prompt tokens reused from the cache"),
    ModelMetric("tokens_predicted_total", "counter", "Number of generation tokens processed"),
    ModelMetric("requests_processing", "gauge", "Number of requests processing"),
    ModelMetric("requests_deferred", "gauge", "Number of requests deferred"),
)


def model_metrics(state: PlatformState, model: str) -> bytes:
    """The metrics in Prometheus' text format. Raises `UnknownModel`."""
    row = next((row for row in state.models if row.name == model), None)
    if row is None:
        raise unknown_model(model)
    read, cached, made = (_tokens(state, model, kind) for kind in ("input", "cached", "output"))
    values = (max(0, read - cached), cached, made, row.inflight, row.queue_depth)
    return "".join(
        f"# HELP llamacpp:{name} {about}\n# TYPE llamacpp:{name} {kind}\nllamacpp:{name} {value}\n"
        for (name, kind, about), value in zip(METRICS, values, strict=True)
    ).encode()


def _tokens(state: PlatformState, model: str, kind: str) -> int:
    return sum(count for name, *_, count in state.counters.by_model(f"{kind}_tokens") if name == model)
