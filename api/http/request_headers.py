"""The header fields of a request, looked up in its WSGI environ by one step.

Werkzeug's own look-up raises and catches an exception for each field that is missing, and most of those
that a request is asked for are missing: ten in each request.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from flask import Request
from werkzeug.datastructures import EnvironHeaders
from werkzeug.utils import cached_property

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIEnvironment


@lru_cache(maxsize=256)
def environ_key(name: str) -> str:
    """Return the key of a header field in a WSGI environ (PEP 3333)."""
    key = name.upper().replace("-", "_")
    return key if key in ("CONTENT_TYPE", "CONTENT_LENGTH") else f"HTTP_{key}"


class RequestHeaders(EnvironHeaders):
    """Werkzeug's read-only header fields, with quick look-ups of one field."""

    def get(self, key: str, default: Any = None, type: Any = None) -> Any:  # type: ignore[override]
        """Return a field's value, or `default`; see `werkzeug.datastructures.Headers.get`."""
        if type is not None:
            return super().get(key, default, type)
        return self.environ.get(environ_key(key), default)

    def __contains__(self, key: object) -> bool:
        """Whether there is such a field."""
        return isinstance(key, str) and environ_key(key) in self.environ


class StokerRequest(Request):
    """A request of the API."""

    def __init__(
        self, environ: WSGIEnvironment, populate_request: bool = True, shallow: bool = False
    ) -> None:
        super().__init__(environ, populate_request, shallow)
        self.headers = RequestHeaders(environ)

    @cached_property
    def blueprints(self) -> list[str]:
        """The names of the route's blueprints, computed once: Flask reads them several times per request."""
        return super().blueprints
