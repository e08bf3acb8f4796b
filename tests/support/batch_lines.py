"""The lines of batches' inputs, and what came of them."""

from __future__ import annotations

import json
from typing import Any

import redis

from api.batches.lines import Result, Steps

CHAT = "/v1/chat/completions"


def chat_line(custom_id: str, text: str, model: str, **fields: Any) -> dict[str, Any]:
    """A line with a chat completion."""
    body = {"model": model, "messages": [{"role": "user", "content": text}], **fields}
    return {"custom_id": custom_id, "method": "POST", "url": CHAT, "body": body}


def jsonl(*lines: Any) -> bytes:
    """The content of a file with these lines."""
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


def parsed(content: bytes) -> list[dict[str, Any]]:
    """The lines of a file."""
    return [json.loads(line) for line in content.splitlines()]


def result_of(steps: Steps[Result]) -> Result:
    """Do all steps, and return the result."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: Result = end.value
            return result


def counted_requests(client: redis.Redis, model: str, prefix: str = "{stoker}:") -> int:
    """How many jobs of a model have ended, of all tenants and days: each counts once."""
    counted = 0
    for key in client.scan_iter(f"{prefix}usage:*"):
        for field, line in client.hgetall(key).items():
            if field.decode().split(" ")[1] == model:
                counted += int(line.split()[0])
    return counted
