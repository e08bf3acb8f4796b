"""Receivers of webhooks that misbehave: each attempt ends in time and with bounded memory."""

from __future__ import annotations

import asyncio
import gzip
import ssl
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, closing, suppress
from dataclasses import replace

import pytest

from api.webhooks import sender as sender_module
from api.webhooks.sender import WebhookSender
from api.webhooks.store import Entry
from api.webhooks.targets import Target
from config.settings import WEBHOOK_EVENTS, WebhookSettings
from tests.backends.openai_remote.scripted_server import AUTHORITY, CERTIFICATES
from tests.support.waiting import scaled

TIMEOUT_S = scaled(0.5)
SETTINGS = WebhookSettings(allow_private=True)
ENTRY = Entry("resp_1", 0.0, "response.completed", 1)
OK = b"HTTP/1.1 200 OK\r\n"
BOMB = gzip.compress(bytes(50_000_000), 1)

Serve = Callable[[asyncio.StreamWriter], Awaitable[None]]
"""What a receiver does once a request has arrived."""


@pytest.fixture(autouse=True)
def short_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    """An attempt ends after `TIMEOUT_S`."""
    monkeypatch.setattr(sender_module, "TIMEOUT_S", TIMEOUT_S)


async def forever(writer: asyncio.StreamWriter, piece: bytes, pause_s: float) -> None:
    while not writer.is_closing():
        writer.write(piece)
        await writer.drain()
        await asyncio.sleep(pause_s)


def sends(*pieces: bytes) -> Serve:
    async def serve(writer: asyncio.StreamWriter) -> None:
        writer.write(b"".join(pieces))
        await writer.drain()

    return serve


def repeats(start: bytes, piece: bytes, pause_s: float = 0.0) -> Serve:
    async def serve(writer: asyncio.StreamWriter) -> None:
        writer.write(start)
        await forever(writer, piece, pause_s)

    return serve


async def is_silent(writer: asyncio.StreamWriter) -> None:
    while not writer.is_closing():
        await asyncio.sleep(0.05)


class BadReceiver:
    """Counts its requests and the bytes that it could send."""

    def __init__(self, serve: Serve, tls: ssl.SSLContext | None = None) -> None:
        self._serve = serve
        self._tls = tls
        self.requests: list[bytes] = []
        self.server_names: list[str | None] = []
        self.url = ""

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[BadReceiver]:
        tasks: set[asyncio.Task[None]] = set()

        def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            tasks.add(asyncio.ensure_future(self._handle(reader, writer)))

        if self._tls is not None:
            self._tls.sni_callback = lambda _socket, name, _context: self.server_names.append(name)
        server = await asyncio.start_server(accept, "127.0.0.1", 0, ssl=self._tls)
        scheme = "http" if self._tls is None else "https"
        self.url = f"{scheme}://127.0.0.1:{server.sockets[0].getsockname()[1]}/hook?a=1"
        try:
            yield self
        finally:
            server.close()
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with closing(writer), suppress(ConnectionError):
            self.requests.append(await reader.readuntil(b"\r\n\r\n"))
            await self._serve(writer)


async def attempt(
    url: str, settings: WebhookSettings = SETTINGS, tls: ssl.SSLContext | None = None
) -> tuple[str | None, bool]:
    """Send an event once; the outcome, which has to come in time."""
    sender = WebhookSender(settings, {}, None, None, "p", tls=tls, clock=time.time)  # type: ignore[arg-type]
    began = time.monotonic()
    outcome = await sender._post(Target("hook", "one", url, WEBHOOK_EVENTS, (bytes(32),)), ENTRY)
    assert time.monotonic() - began < TIMEOUT_S + scaled(1)
    return outcome


@pytest.mark.parametrize(
    ("serve", "problem"),
    [
        pytest.param(is_silent, "TimeoutError", id="is silent"),
        pytest.param(repeats(OK, b"a", 0.01), "TimeoutError", id="sends its head byte by byte"),
        pytest.param(repeats(OK + b"a: ", b"a" * 4096), "too long", id="sends an endless field"),
        pytest.param(repeats(OK, b"a: b\r\n" * 100), "too long", id="sends endless fields"),
        pytest.param(
            repeats(b"", b"HTTP/1.1 103 Early Hints\r\n\r\n" * 50), "too long", id="sends hints only"
        ),
        pytest.param(sends(), "it closed the connection", id="closes without an answer"),
        pytest.param(sends(b"220 mail.example ESMTP\r\n"), "NotHttp", id="does not speak HTTP"),
        pytest.param(
            sends(b"HTTP/1.1 302 Found\r\nLocation: /hook\r\n\r\n"), "it answered 302", id="redirects"
        ),
        pytest.param(repeats(OK + b"\r\n", bytes(1 << 16)), None, id="sends an endless body"),
        pytest.param(
            sends(OK, b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(BOMB), BOMB),
            None,
            id="sends a compressed bomb",
        ),
    ],
)
def test_attempt_ends_in_time_when_the_receiver(serve: Serve, problem: str | None) -> None:
    async def check() -> None:
        async with BadReceiver(serve).listening() as receiver:
            found, is_final = await attempt(receiver.url)
            assert (found is None) is (problem is None)
            assert (problem or "") in (found or "")
            assert not is_final
            assert len(receiver.requests) == 1
            assert receiver.requests[0].startswith(b"POST /hook?a=1 HTTP/1.1\r\n")

    asyncio.run(check())


def server_tls() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATES / "server.pem")
    return context


def test_certificate_is_verified_against_the_name_of_the_target(monkeypatch: pytest.MonkeyPatch) -> None:
    trusting = ssl.create_default_context(cafile=AUTHORITY)

    async def check() -> None:
        async with BadReceiver(sends(OK, b"\r\n"), server_tls()).listening() as receiver:
            port = receiver.url.rpartition(":")[2]

            async def resolve(_host: str, _port: int) -> list[object]:
                return await asyncio.get_running_loop().getaddrinfo("127.0.0.1", int(port.partition("/")[0]))

            monkeypatch.setattr(sender_module, "resolve_public", resolve)
            public_only = replace(SETTINGS, allow_private=False)
            named = f"https://remote.test:{port}"
            assert await attempt(named, public_only, trusting) == (None, False)
            assert receiver.server_names == ["remote.test"]
            for url, tls in ((f"https://other.test:{port}", trusting), (named, None)):
                problem, _ = await attempt(url, public_only, tls)
                assert problem is not None
                assert "certificate verify failed" in problem
            assert len(receiver.requests) == 1

    asyncio.run(check())


def test_proxy_of_the_environment_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(variable, "http://127.0.0.1:9")

    async def check() -> None:
        async with BadReceiver(sends(OK, b"\r\n")).listening() as receiver:
            assert await attempt(receiver.url) == (None, False)

    asyncio.run(check())


def test_address_is_checked_again_at_each_attempt(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name that led to a public address at first is not followed to a private one (DNS rebinding)."""
    resolved: list[str] = []

    async def check() -> None:
        async with BadReceiver(sends(OK, b"Content-Length: 0\r\n\r\n")).listening() as receiver:
            port = int(receiver.url.rpartition(":")[2].partition("/")[0])

            async def resolve(host: str, _port: int) -> list[object]:
                resolved.append(host)
                if len(resolved) > 1:
                    raise OSError(None, f"{host} has no public address")
                return await asyncio.get_running_loop().getaddrinfo("127.0.0.1", port)

            monkeypatch.setattr(sender_module, "resolve_public", resolve)
            public_only = replace(SETTINGS, allow_private=False)
            assert await attempt(f"http://hooks.test:{port}/hook", public_only) == (None, False)
            problem, _ = await attempt(f"http://hooks.test:{port}/hook", public_only)
            assert problem is not None
            assert "no public address" in problem
            assert len(receiver.requests) == 1

    asyncio.run(check())


def test_target_with_a_port_that_is_none_is_an_attempt_that_failed() -> None:
    problem, is_final = asyncio.run(attempt("http://127.0.0.1:99999/hook"))
    assert problem is not None
    assert not is_final
