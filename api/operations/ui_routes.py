"""/ui: the pages of the UI. They need no key; what they show comes from the API, which asks for one."""

from __future__ import annotations

from flask import Flask, Response
from werkzeug.exceptions import NotFound

from api.http.route_access import Access, declare
from api.operations.ui_files import ui_files

ENDPOINTS = ("ui", "ui_without_slash")


def register(app: Flask) -> None:
    """Add the routes to the app. They are no part of the OpenAPI document."""
    app.add_url_rule("/ui", ENDPOINTS[1], declare(add_slash, Access.PUBLIC))
    app.add_url_rule("/ui/", ENDPOINTS[0], declare(send_file, Access.PUBLIC), defaults={"path": ""})
    app.add_url_rule("/ui/<path:path>", ENDPOINTS[0])


def add_slash() -> Response:
    """Redirect to the first page. The address is relative: a reverse proxy may have put a prefix before."""
    return Response(status=308, headers={"Location": "ui/"})


def send_file(path: str) -> Response:
    """A page, or a file of the pages. Only those that were there at the start exist.

    A page whose address ends with a slash is redirected: the addresses in it are relative.
    """
    file = ui_files().get(path)
    if file is None:
        name = path.removesuffix("/")
        if name and name != path and name in ui_files():
            return Response(status=308, headers={"Location": f"../{name.rpartition('/')[2]}"})
        raise NotFound
    return file.prepared.answer(file.headers)
