"""The app's class: what it does with less work than Flask.

It finds a route without looking at the host, and that of a fixed path once; it calls views as they are.

No route depends on the host or on a subdomain. Most requests go to a few paths without variables.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, cast

import flask
from flask import Flask, Request
from flask.sessions import NullSession, SessionInterface
from werkzeug.routing import MapAdapter, Rule

HOST = re.compile(r"[\w.-]+(?::\d+)?", re.ASCII)


FixedPaths = dict[tuple[str, str], Rule]
"""The rules of paths without variables, by path and method, as they are found."""


class CachedMapAdapter(MapAdapter):
    """Looks for the rule of a fixed path in `paths` first."""

    paths: FixedPaths

    def match(self, *arguments: Any, return_rule: bool = False, **options: Any) -> Any:
        """Return the rule and the arguments of a path; fixed paths come from `paths`."""
        if not return_rule or arguments or options:
            return super().match(*arguments, return_rule=return_rule, **options)  # type: ignore[call-overload]
        place = self.path_info, self.default_method
        rule = self.paths.get(place)
        if rule is not None:
            return rule, {}
        rule, values = super().match(return_rule=True)
        if not rule.arguments:  # a finite number: clients choose no such paths
            self.paths[place] = rule
        return rule, values


class NoSessions(SessionInterface):
    """Makes no session of Flask's: those of the UI are the platform's own (`api.access.session_store`)."""

    def __init__(self) -> None:
        self._none = NullSession()

    def open_session(self, app: Flask, request: Request) -> NullSession:  # noqa: ARG002
        """Return the empty session."""
        return self._none


class StokerFlask(Flask):
    """The app's class."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        self.paths: FixedPaths = {}
        super().__init__(*arguments, **options)
        self.session_interface = NoSessions()

    def ensure_sync(self, func: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function itself: no view and no hook is a coroutine function."""
        return func

    def create_url_adapter(self, request: Request | None) -> MapAdapter | None:
        """Return an adapter with the cache of fixed paths; Flask's own for unusual hosts and paths."""
        if request is None:
            return super().create_url_adapter(None)
        wsgi = request.environ
        host, path = wsgi.get("HTTP_HOST", ""), wsgi["PATH_INFO"]
        if not HOST.fullmatch(host) or not path.isascii() or "HTTP_UPGRADE" in wsgi:
            return super().create_url_adapter(request)
        adapter = CachedMapAdapter(
            self.url_map,
            host,
            wsgi.get("SCRIPT_NAME", ""),
            "",
            wsgi["wsgi.url_scheme"],
            path,
            wsgi["REQUEST_METHOD"],
            wsgi["QUERY_STRING"],
        )
        adapter.paths = self.paths
        return adapter


def current_request() -> Request:
    """The current request itself: its attributes need no proxy, which takes half a microsecond for each."""
    return cast(Request, flask.request._get_current_object())  # type: ignore[attr-defined]
