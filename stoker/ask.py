"""Asks a model a question through the API, and measures the time of the answer."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from config.commands import with_runnable_commands
from stoker.client import ApiClient, ApiClientError

SILENCE_TIMEOUT_S = 120.0
DELTA_EVENTS = ("response.output_text.delta", "response.reasoning_text.delta")
DEMO_MODEL, STUB_MODEL = "stoker-demo", "stub"
"""Two models of `settings.json`: one that is made for examples, and one that gives no real answers."""

END_EVENTS = ("response.completed", "response.incomplete", "response.failed")


@dataclass(frozen=True)
class Timing:
    """Seconds until the first token and until the end, and the output tokens of the usage."""

    first_s: float
    total_s: float
    tokens: int

    def __str__(self) -> str:
        """Format it as one line."""
        speed = f", {self.tokens / self.total_s:.0f} tokens/s" if self.tokens and self.total_s > 0 else ""
        return (
            f"first token after {1000 * self.first_s:.0f} ms, "
            f"{self.tokens} tokens in {1000 * self.total_s:.0f} ms{speed}"
        )


def ask(
    client: ApiClient, model: str, question: str, show: Callable[[str], None], *, allow_remote: bool = False
) -> Timing:
    """Stream the answer; `show` is called with each piece of its text. Raises `ApiError`."""
    start = time.monotonic()
    first: float | None = None
    body = {"model": model, "input": question, "stream": True}
    if allow_remote:
        body["allow_remote"] = True
    for event in client.events("/v1/responses", body, SILENCE_TIMEOUT_S):
        kind = event.get("type")
        if kind in DELTA_EVENTS and first is None:
            first = time.monotonic() - start
        if kind == "response.output_text.delta":
            show(str(event["delta"]))
        elif kind in END_EVENTS:
            total_s = time.monotonic() - start
            response = event.get("response", {})
            if kind == "response.failed":
                error = response.get("error") or {}
                raise ApiClientError(f"{model} gave no answer: {error.get('message', 'it failed')}")
            tokens = int((response.get("usage") or {}).get("output_tokens", 0))
            return Timing(total_s if first is None else first, total_s, tokens)
        elif kind == "error":
            raise ApiClientError(f"{model} gave no answer: {event.get('message', 'it failed')}")
    raise ApiClientError(f"{model} gave no answer: the stream ended too soon")


def find_loaded_model(client: ApiClient, *, allow_remote: bool = False) -> str:
    """Return a loaded model, the demo model if it is one of them. Raises `ApiClientError` without any."""
    models = client.get("/v1/models").get("data", [])
    allowed = [model for model in models if allow_remote or not model.get("remote")]
    ready = [str(model["id"]) for model in allowed if model.get("state") == "loaded"]
    if not ready:
        raise ApiClientError(
            with_runnable_commands(
                "no model is loaded; `stoker status` lists the models, `stoker load NAME` loads one"
            )
        )
    return min(ready, key=lambda name: (name != DEMO_MODEL, name == STUB_MODEL))
