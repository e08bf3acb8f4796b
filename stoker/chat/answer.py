"""Streams an answer from `/v1/responses`, and measures it; Ctrl-C cancels it on the server."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from stoker.chat.conversation import Json
from stoker.client import ApiClient, ApiClientError

SILENCE_TIMEOUT_S = 120.0
"""The longest time without a byte from the server, which sends keep-alives."""

DELTA_EVENTS = (
    "response.output_text.delta",
    "response.reasoning_text.delta",
    "response.function_call_arguments.delta",
)
STOPPED = "stopped"
"""Why an answer ended that Ctrl-C has cancelled."""

SHORTEST_S = 0.05
"""The tokens of a shorter answer came in one packet: their time tells nothing of the speed."""

END_EVENTS = ("response.completed", "response.incomplete", "response.failed")


@dataclass(frozen=True)
class Timing:
    """Seconds until the first token and until the end, and the output tokens of the usage."""

    first_s: float
    total_s: float
    tokens: int

    def __str__(self) -> str:
        """Format it as one line; the speed is that of the tokens after the first one, if it was measured."""
        after_s = self.total_s - self.first_s
        is_measured = self.tokens > 1 and after_s >= SHORTEST_S
        speed = f", {(self.tokens - 1) / after_s:.0f} tokens/s" if is_measured else ""
        return (
            f"first token after {_duration(self.first_s)}, "
            f"{self.tokens} tokens in {_duration(self.total_s)}{speed}"
        )


def _duration(seconds: float) -> str:
    return f"{1000 * seconds:.0f} ms" if seconds < 10 else f"{seconds:.1f} s"


@dataclass
class Answer:
    """What has come of an answer.

    `early_end` is why it ended early, in words, "" if it did not; `failure` is why it failed.
    """

    text: str = ""
    id: str | None = None
    timing: Timing | None = None
    early_end: str = ""
    failure: str | None = None
    _began: float = field(default_factory=time.monotonic)
    _first_s: float | None = None

    def add(self, event: Mapping[str, Any]) -> None:
        """Add an event."""
        kind = event.get("type")
        if kind in DELTA_EVENTS and self._first_s is None:
            self._first_s = time.monotonic() - self._began
        if kind == "response.output_text.delta":
            self.text += str(event.get("delta", ""))
        response = event.get("response") or {}
        self.id = response.get("id") or self.id
        if kind in END_EVENTS:
            total_s = time.monotonic() - self._began
            tokens = int((response.get("usage") or {}).get("output_tokens") or 0)
            self.timing = Timing(total_s if self._first_s is None else self._first_s, total_s, tokens)
        if kind == "response.failed":
            self.failure = str((response.get("error") or {}).get("message") or "it failed")
        elif kind == "response.incomplete":
            self.early_end = _early_end(response)
        elif kind == "error":
            self.failure = str(event.get("message") or "it failed")


def _early_end(response: Mapping[str, Any]) -> str:
    if response.get("status") == "cancelled":
        return "cancelled"
    reason = (response.get("incomplete_details") or {}).get("reason")
    return {"max_output_tokens": "the limit of tokens is reached"}.get(
        str(reason), str(reason or "incomplete")
    )


def stream_answer(
    client: ApiClient,
    body: Json,
    on_event: Callable[[Mapping[str, Any]], None],
    on_comment: Callable[[str], None] | None = None,
) -> Answer:
    """Send the request, and call `on_event` with each event. Raises `ApiClientError`.

    After Ctrl-C the response is cancelled on the server, and the answer so far is returned.
    """
    answer = Answer()
    events = client.events("/v1/responses", body, SILENCE_TIMEOUT_S, on_comment)
    try:
        for event in events:
            answer.add(event)
            on_event(event)
    except KeyboardInterrupt:
        answer.early_end = STOPPED
        events.close()
        _cancel(client, answer)
        return answer
    if answer.failure is None and answer.timing is None:
        answer.failure = "the stream ended too soon"
    if answer.failure is not None:
        raise ApiClientError(f"{body['model']} gave no answer: {answer.failure}")
    return answer


def _cancel(client: ApiClient, answer: Answer) -> None:
    """Cancel the response; the closed connection does so, too, unless a proxy keeps it open."""
    if answer.id is not None:
        with suppress(ApiClientError, KeyboardInterrupt):
            client.post(f"/v1/responses/{answer.id}/cancel")
