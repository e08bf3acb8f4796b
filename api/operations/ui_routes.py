"""/ui: the pages of the UI. They need no key; what they show comes from the API, which asks for one."""

from __future__ import annotations

from flask import Flask, Response, request
from werkzeug.exceptions import NotFound

from api.http.route_access import Access, declare
from api.operations.ui_files import HEADERS_OF_PAGES, ui_files

ENDPOINTS = ("ui", "ui_without_slash")

NO_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>No such page - Stoker</title>
</head>
<body><main>
<h1>There is no such page</h1>
<p><a href="{start}">Go to the first page of the UI</a></p>
</main></body>
</html>
"""


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

    A page whose address ends with a slash is redirected: the addresses in it are relative. Of another path a
    browser, which accepts HTML, gets a page that leads to the first one; any other client gets an error.
    """
    file = ui_files().get(path)
    if file is None:
        name = path.removesuffix("/")
        if name and name != path and name in ui_files():
            return Response(status=308, headers={"Location": f"../{name.rpartition('/')[2]}"})
        if request.accept_mimetypes.best_match(("application/json", "text/html")) == "text/html":
            return no_page(path)
        raise NotFound
    return file.prepared.answer(file.headers)


def no_page(path: str) -> Response:
    """The page for a path that no file has. Its link is relative: a proxy may have put a prefix before."""
    start = "../" * path.count("/") or "./"
    headers = {**HEADERS_OF_PAGES, "Content-Security-Policy": "default-src 'none'", "Vary": "Accept"}
    return Response(NO_PAGE.format(start=start), 404, headers, content_type="text/html; charset=utf-8")
