"""Detached responses under a WSGI server with threads: Flask's test client."""

from __future__ import annotations

import asyncio
import threading

import pytest
from flask import Flask

from api.http.detached import DetachedResponse
from api.http.route_access import Access, declare
from api.http.server.client_connection import ClientConnection
from api.services import AppServices
from tests.support.waiting import scaled


@pytest.fixture
def get(new_app: Flask):
    """Answer GET /detached by this function, and return the response."""

    def get(serve, **options):
        view = declare(lambda: DetachedResponse(serve), Access.PUBLIC)
        new_app.add_url_rule("/detached", "detached", view)
        return new_app.test_client().get("/detached", **options)

    return get


def test_a_whole_answer_has_its_status_headers_and_request_id(get):
    async def serve(client: ClientConnection) -> None:
        client.respond(409, {"Content-Type": "application/json"}, b"{}")

    response = get(serve)
    assert (response.status_code, response.data, response.headers["Content-Length"]) == (409, b"{}", "2")
    assert response.headers["x-request-id"].startswith("req_")
    assert response.headers.getlist("Content-Type") == ["application/json"]


def test_a_streamed_answer_comes_part_by_part(get, services: AppServices):
    parts = asyncio.Queue()

    async def serve(client: ClientConnection) -> None:
        client.begin(200, {"Content-Type": "text/plain"})
        client.write(b"one")
        client.write(await parts.get())
        client.end()
        client.write(b"ignored")

    response = get(serve)
    body = response.iter_encoded()
    assert next(body) == b"one"
    services.loop.call_soon_threadsafe(parts.put_nowait, b"two")
    assert list(body) == [b"two"]


def test_callbacks_continue_the_answer_after_serve_has_returned(get, services: AppServices):
    async def serve(client: ClientConnection) -> None:
        services.loop.call_later(0.01, client.respond, 200, {}, b"later")

    assert get(serve).data == b"later"


def test_closing_the_response_is_a_disconnect(get):
    gone = threading.Event()

    async def serve(client: ClientConnection) -> None:
        client.on_disconnect(gone.set)
        client.begin(200, {})
        client.write(b"one")

    response = get(serve, buffered=False)
    response.close()
    assert gone.wait(scaled(5))


def test_an_error_before_the_answer_is_internal_error(get):
    async def serve(_client: ClientConnection) -> None:
        raise ValueError("a secret")

    response = get(serve)
    assert response.status_code == 500
    assert response.json["error"]["code"] == "internal_error"
    assert b"secret" not in response.data


def test_the_end_of_a_body_raises_nothing_after_the_loop_was_closed(get, services: AppServices, monkeypatch):
    async def serve(client: ClientConnection) -> None:
        client.begin(200, {"Content-Type": "text/plain"})
        client.write(b"one")
        client.end()

    body = get(serve).iter_encoded()
    assert next(body) == b"one"
    closed = asyncio.new_event_loop()
    closed.close()
    monkeypatch.setattr(services.loop, "call_soon_threadsafe", closed.call_soon_threadsafe)
    assert list(body) == []
    monkeypatch.undo()
