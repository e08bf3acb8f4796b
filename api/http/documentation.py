"""The page `/docs` and its files: Swagger UI, and the few lines around it (`api/static/docs/`).

The addresses in the page are relative: a reverse proxy may have put a prefix before. The files are read once
per process and compressed once each.
"""

from __future__ import annotations

from functools import cache, partial
from pathlib import Path

from flask import Flask, Response
from werkzeug.exceptions import NotFound

from api.http.prepared_answer import PreparedAnswer
from api.http.route_access import Access, declare

FOLDER = Path(__file__).parents[1] / "static"

ENDPOINTS = ("static", "docs")
"""They are no part of the OpenAPI document."""

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:;"
    " connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""Swagger UI sets style attributes, and its style sheet has images of its own."""

_HEADERS = {
    "Content-Security-Policy": POLICY,
    "Referrer-Policy": "no-referrer",
    "Vary": "Accept-Encoding",
    "X-Frame-Options": "DENY",  # for browsers without frame-ancestors
}
_HEADERS_OF_FILES = {"Cache-Control": "no-cache", "Vary": "Accept-Encoding"}
_TYPES = {".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8"}
_SIGN_IN = b' data-sign-in="ui/sign-in"'


def register(app: Flask, *, with_ui: bool) -> None:
    """Add the page and its files to the app. `with_ui`: there is a page on which people sign in."""
    app.add_url_rule("/static/<folder>/<name>", ENDPOINTS[0], declare(send_file, Access.PUBLIC))
    page = declare(partial(send_page, with_ui=with_ui), Access.PUBLIC)
    app.add_url_rule("/docs", ENDPOINTS[1], page)


def send_page(*, with_ui: bool) -> Response:
    """The page, with a policy by which Swagger UI runs and nothing else."""
    return _page(with_ui).answer(_HEADERS)


def send_file(folder: str, name: str) -> Response:
    """A script, a style sheet or a licence; there are no others."""
    file = _files().get(f"{folder}/{name}")
    if file is None:
        raise NotFound
    return file.answer(_HEADERS_OF_FILES)


@cache
def _page(with_ui: bool) -> PreparedAnswer:
    content = (FOLDER / "docs" / "page.html").read_bytes()
    return PreparedAnswer(content if with_ui else content.replace(_SIGN_IN, b""), "text/html; charset=utf-8")


@cache
def _files() -> dict[str, PreparedAnswer]:
    """The files by their paths below `/static/`."""
    found = (path for name in ("docs", "swagger-ui") for path in (FOLDER / name).iterdir())
    return {
        path.relative_to(FOLDER).as_posix(): PreparedAnswer(
            path.read_bytes(), _TYPES.get(path.suffix, "text/plain; charset=utf-8")
        )
        for path in found
        if path.suffix != ".html"
    }
