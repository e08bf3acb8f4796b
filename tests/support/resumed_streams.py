"""Requests whose answers can be read again, by every API, and a client that reads their bytes."""

from __future__ import annotations

import http.client
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote, urlencode

from tests.support.waiting import scaled

_COMMENT = re.compile(rb"^:[^\n]*\n\n", re.MULTILINE)
_SPACES = re.compile(rb"(?:^|(?<=\n)) +(?=[{]|$)")


def requests(
    text: str, model: str, *, stream: bool = True, tokens: int = 200
) -> dict[str, tuple[str, dict[str, Any]]]:
    """By name of the API: the path and the body of a request for an answer to `text`."""
    messages = [{"role": "user", "content": text}]
    common = {"model": model, "stream": stream}
    usage = {"stream_options": {"include_usage": True}} if stream else {}
    return {
        "responses": (
            "/v1/responses",
            {**common, "input": text, "max_output_tokens": tokens, "store": False},
        ),
        "stored": ("/v1/responses", {**common, "input": text, "max_output_tokens": tokens}),
        "chat": ("/v1/chat/completions", {**common, "messages": messages, "max_tokens": tokens, **usage}),
        "web_ui": (
            "/v1/chat/completions",
            {
                **common,
                "messages": messages,
                "max_tokens": tokens,
                **{"return_progress": stream, "timings_per_token": True, "reasoning_format": "none"},
                **{"reasoning_control": True, "chat_template_kwargs": {"enable_thinking": True}},
            },
        ),
        "completions": ("/v1/completions", {**common, "prompt": text, "max_tokens": tokens, "echo": True}),
        "messages": ("/v1/messages", {**common, "messages": messages, "max_tokens": tokens}),
        "ollama_chat": ("/api/chat", {**common, "messages": messages, "options": {"num_predict": tokens}}),
        "ollama_generate": ("/api/generate", {**common, "prompt": text, "options": {"num_predict": tokens}}),
        "llama_completion": ("/completion", {**common, "prompt": text, "n_predict": tokens}),
    }


def without_keep_alives(data: bytes, *, lines: bool, continues: bytes = b"") -> bytes:
    """The bytes of a stream that offsets count; `lines`: it is NDJSON.

    They follow those in `continues`, whose last line may go on: that line is no comment, whatever it has.
    """
    end = b"\n" if lines else b"\n\n"
    rest = b"" if not continues or continues.endswith(end) else data.partition(end)[0] + end
    if len(rest) > len(data):
        return data
    start = len(rest)
    return data[:start] + (_SPACES if lines else _COMMENT).sub(b"", data[start:])


def stream_path(conversation: str, start: int = 0) -> str:
    """The path that reads a stream from that byte."""
    return f"/v1/stream/{quote(conversation, safe='/')}?{urlencode({'from': start})}"


@contextmanager
def answering(
    host: str, method: str, path: str, body: object = None, headers: Mapping[str, str] = {}
) -> Iterator[http.client.HTTPResponse]:
    """The answer to a request, whose body is still to be read; the connection is closed after the block."""
    connection = http.client.HTTPConnection(host, timeout=scaled(30))
    try:
        data = None if body is None else json.dumps(body)
        connection.request(method, path, data, {"Content-Type": "application/json", **headers})
        yield connection.getresponse()
    finally:
        connection.close()
