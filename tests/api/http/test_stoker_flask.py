"""Requests find the same routes as with Flask's own matching."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from flask import Flask
from werkzeug.exceptions import HTTPException
from werkzeug.routing import MapAdapter
from werkzeug.test import EnvironBuilder

from api.http.request_headers import StokerRequest
from api.http.stoker_flask import CachedMapAdapter, StokerFlask

PATHS = (
    "/fixed",
    "/fixed/",
    "/things",
    "/things/",
    "/things/7",
    "/things/a%2Fb",
    "/with/default",
    "/no",
    "/é",
    "//x",
    "/",
)
HOSTS = ("stoker.test", "stoker.test:8000", "[::1]:8000", "127.0.0.1", "a b", "ä", "")


@pytest.fixture
def app() -> StokerFlask:
    """An app with a route of each kind."""
    app = StokerFlask("routes", static_folder=None)
    app.request_class = StokerRequest
    rules: dict[str, dict[str, Any]] = {
        "/fixed": {"methods": ["POST"]},
        "/things/": {},
        "/things/<int:number>": {},
        "/with/default": {"defaults": {"number": 1}},
    }
    for number, (rule, options) in enumerate(rules.items()):
        app.add_url_rule(rule, f"view{number}", view, **options)
    return app


def view(**values: object) -> dict[str, object]:
    return values


def environs() -> Iterator[dict[str, Any]]:
    for path in PATHS:
        for method in ("GET", "POST", "HEAD", "OPTIONS", "BREW"):
            yield EnvironBuilder(path, method=method, query_string="a=b").get_environ()


def found(app: Flask, create: Callable[..., MapAdapter | None], environ: dict[str, Any]) -> tuple[Any, ...]:
    """The route and its values, or the error."""
    try:
        adapter = create(app, app.request_class(environ))
        assert adapter is not None
        rule, values = adapter.match(return_rule=True)
    except HTTPException as error:
        return type(error), error.code, getattr(error, "new_url", None), getattr(error, "valid_methods", None)
    return rule.endpoint, dict(values)


@pytest.mark.parametrize("host", HOSTS)
def test_a_request_finds_the_route_that_flask_finds(app: StokerFlask, host: str) -> None:
    for environ in [*environs(), *environs()]:  # the second time from the cache
        environ["HTTP_HOST"] = host
        expected = found(app, Flask.create_url_adapter, environ)
        assert found(app, StokerFlask.create_url_adapter, environ) == expected


def test_only_paths_without_variables_are_remembered(app: StokerFlask) -> None:
    for environ in environs():
        found(app, StokerFlask.create_url_adapter, environ)
    assert sorted(app.paths) == [
        ("/fixed", "OPTIONS"),
        ("/fixed", "POST"),
        ("/things/", "GET"),
        ("/things/", "HEAD"),
        ("/things/", "OPTIONS"),
    ]
    request = app.request_class(EnvironBuilder("/fixed", method="POST").get_environ())
    assert isinstance(app.create_url_adapter(request), CachedMapAdapter)
