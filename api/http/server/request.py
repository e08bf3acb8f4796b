"""A request as it arrives, in the form of a WSGI environ (PEP 3333)."""

from __future__ import annotations

import sys
from functools import lru_cache
from io import BytesIO
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote_to_bytes

import httptools

from api.http.server.request_path import one_path

if TYPE_CHECKING:
    from api.http.server.body_sink import BodySink

MAX_CACHED_NAME_BYTES = 64
"""Longer names of header fields are not kept in memory after their request."""

PLAIN_KEYS = {b"content-type": "CONTENT_TYPE", b"content-length": "CONTENT_LENGTH"}


class HttpRequest:
    """One request. `body` has what has arrived of its body, `size` bytes."""

    __slots__ = (
        "asked_for_key",
        "body",
        "body_began",
        "field_count",
        "has_key",
        "head_bytes",
        "head_complete",
        "is_http_1_1",
        "is_repeated",
        "keep_alive",
        "method",
        "path",
        "received",
        "sink",
        "size",
        "target",
        "tenant",
        "wsgi",
    )

    def __init__(self) -> None:
        self.wsgi: dict[str, Any] = {}
        """The environ: the header fields so far."""
        self.field_count = 0
        """The number of header fields."""
        self.target = b""
        self.method = ""
        self.path = b""
        """The path with its %-escapes, and with single slashes."""
        self.body: bytes | bytearray = b""
        self.body_began = 0.0
        """The loop's time."""
        self.size = 0
        self.head_bytes = 0
        """Bytes of the head in memory, without those of its last 4 KiB."""
        self.received = 0
        """Bytes of the head so far; when it is complete, of all that followed it."""
        self.head_complete = False
        self.is_http_1_1 = True
        self.keep_alive = False
        self.sink: BodySink | None = None
        """Takes the body, which is not in memory then."""
        self.tenant: str | None = None
        """The caller's, of a request whose body has a sink."""
        self.has_key = False
        """Whether its key was checked already."""
        self.asked_for_key = False
        """Whether its body waited, or waits, until this process knows new keys."""
        self.is_repeated = False
        """Whether it was answered once before this process knew new keys."""

    def add_field(self, name: bytes, value: bytes) -> bool:
        """Add a header field; False if it must not be there twice."""
        key = _cached_key(name) if len(name) <= MAX_CACHED_NAME_BYTES else environ_key(name)
        if key is None:
            return True
        text = value.decode("latin-1")
        earlier = self.wsgi.get(key)
        if earlier is not None:
            if key in ("HTTP_HOST", "CONTENT_LENGTH", "CONTENT_TYPE"):
                return False
            text = f"{earlier}{'; ' if key == 'HTTP_COOKIE' else ','}{text}"
        self.wsgi[key] = text
        return True

    def set_target(self) -> bool:
        """Split the request's target into path and query; False if it has neither of their two forms."""
        if self.target.startswith(b"/"):  # a path, also with an empty first segment (RFC 9112, 3.2.1)
            path, _, query = self.target.partition(b"#")[0].partition(b"?")
        else:  # the absolute form, `http://host/path`, which servers have to accept (RFC 9112, 3.2.2)
            try:
                parsed = httptools.parse_url(self.target)
            except httptools.HttpParserInvalidURLError:
                return False
            if (parsed.schema or b"").lower() not in (b"http", b"https"):
                return False
            path, query = parsed.path or b"/", parsed.query or b""
        self.path = path = one_path(path)
        self.wsgi["PATH_INFO"] = (unquote_to_bytes(path) if b"%" in path else path).decode("latin-1")
        self.wsgi["QUERY_STRING"] = query.decode("latin-1")
        return True

    def expects_continue(self) -> bool:
        """Whether the client waits for leave to send the body (RFC 9110, 10.1.1)."""
        return self.is_http_1_1 and self.wsgi.get("HTTP_EXPECT", "").lower() == "100-continue"

    def add_body(self, data: bytes) -> None:
        """Add a part of the body. Most bodies are one part, which is not copied."""
        if not self.size:
            self.body = data
        else:
            if isinstance(self.body, bytes):
                self.body = bytearray(self.body)
            self.body += data
        self.size += len(data)

    def finish_environ(self, base: dict[str, Any]) -> dict[str, Any]:
        """The whole environ. No header is taken for the address, the scheme or a prefix of the path."""
        wsgi = self.wsgi
        if wsgi.pop("HTTP_TRANSFER_ENCODING", None) is not None:
            wsgi["CONTENT_LENGTH"] = str(self.size)
        wsgi.update(base)
        wsgi["REQUEST_METHOD"] = self.method
        self.body = bytes(self.body)  # `BytesIO` would copy a bytearray again when it is read
        wsgi["wsgi.input"] = BytesIO(self.body)
        return wsgi


def base_environ(host: str, port: int) -> dict[str, Any]:
    """The part of the environ that is the same for all requests."""
    return {
        "SCRIPT_NAME": "",
        "SERVER_NAME": host,
        "SERVER_PORT": str(port),
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": "http",
        "wsgi.errors": sys.stderr,
        "wsgi.multithread": True,
        "wsgi.multiprocess": True,
        "wsgi.run_once": False,
        "wsgi.input_terminated": True,
    }


def environ_key(name: bytes) -> str | None:
    """The environ's key for a header field; None for a name with an underscore.

    `X_Y` and `X-Y` have the same key, so a client could pass a header by a proxy that removes `X-Y`.
    """
    if b"_" in name:
        return None
    name = name.lower()
    return PLAIN_KEYS.get(name) or f"HTTP_{name.decode('latin-1').upper().replace('-', '_')}"


_cached_key = lru_cache(1024)(environ_key)
