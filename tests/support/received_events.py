"""The events in what a client has received of a stream, whole or cut anywhere."""

from __future__ import annotations

import json
from typing import Any

from tests.support.raw_http import decode_chunks


def events_in(received: bytes) -> list[dict[str, Any]]:
    """The events of a chunked answer with the status 200 that have come completely."""
    head, separator, rest = received.partition(b"\r\n\r\n")
    if not separator:
        return []
    assert head.startswith(b"HTTP/1.1 200"), received[:1000]
    body, _, _ = decode_chunks(rest)
    whole = body[: body.rfind(b"\n\n") + 2]
    return [json.loads(line[6:]) for line in whole.split(b"\n") if line.startswith(b"data: {")]


def text_in(events: list[dict[str, Any]]) -> str:
    """The text of these events' deltas."""
    return "".join(event["delta"] for event in events if event["type"] == "response.output_text.delta")


def chunks_in(body: bytes) -> list[dict[str, Any]]:
    """The chunks of a chat completion, from the body of its stream."""
    return [json.loads(line[6:]) for line in body.split(b"\n") if line.startswith(b"data: {")]
