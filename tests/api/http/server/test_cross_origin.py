"""Web pages of allowed origins read every answer; those of others read none."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from api.access.open_mode import OpenMode
from api.http.errors import Forbidden
from api.http.server.cross_origin import EXPOSED, CrossOrigin
from config.api_keys import digest_of
from config.errors import ConfigError
from config.load import load_settings
from config.settings import ApiSettings, Settings, TenancySettings
from tests.api.conftest import make_services
from tests.conftest import ValkeyServer
from tests.support.api_fakes import Fakes
from tests.support.served_api import Served, serving
from tests.support.waiting import scaled

CHAT, APP = "https://chat.example", "app://obsidian.md"
PREFLIGHT = {
    "Access-Control-Request-Method": "POST",
    "Access-Control-Request-Headers": "authorization,content-type, x-stainless-os",
}
LIMITED = {"tenants": {"one": {"rate_limit": "2req/min", "api_keys_sha256": [digest_of("sk-one")]}}}


@pytest.fixture(scope="module")
def served(shared_server: ValkeyServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    variables = {"STOKER_API_KEY": "sk-served", "STOKER_API__ALLOWED_ORIGINS": f"{CHAT},{APP}"}
    with serving(shared_server, tmp_path_factory.mktemp("origins"), variables, **LIMITED) as served:
        served.handle = served.answer_hello
        yield served


@pytest.fixture(scope="module")
def closed(shared_server: ValkeyServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The API with the default settings."""
    with serving(shared_server, tmp_path_factory.mktemp("closed"), {"STOKER_API_KEY": "sk-served"}) as served:
        yield served


def ask(
    served: Served, method: str, path: str, body: object = None, origin: str | None = CHAT, **headers: str
) -> tuple[int, http.client.HTTPMessage, bytes]:
    connection = http.client.HTTPConnection(served.url.removeprefix("http://"), timeout=scaled(20))
    first = {} if origin is None else {"Origin": origin}
    given = {**first, "Authorization": "Bearer sk-served", "Content-Type": "application/json"} | headers
    data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
    connection.request(method, path, data, {name: value for name, value in given.items() if value})
    answer = connection.getresponse()
    return answer.status, answer.headers, answer.read()


@pytest.mark.parametrize("origin", [CHAT, APP])
@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/models/alpha", "/no/such/path", "/api/chat"])
def test_a_preflight_is_answered_without_a_key(served: Served, origin: str, path: str) -> None:
    status, headers, body = ask(served, "OPTIONS", path, None, origin, Authorization="", **PREFLIGHT)
    assert (status, body) == (204, b"")
    assert headers["Access-Control-Allow-Origin"] == origin, str(headers)
    assert headers["Access-Control-Allow-Headers"] == PREFLIGHT["Access-Control-Request-Headers"]
    assert "POST" in headers["Access-Control-Allow-Methods"]
    assert "DELETE" in headers["Access-Control-Allow-Methods"]
    assert int(headers["Access-Control-Max-Age"]) > 0
    assert headers["Vary"] == "Origin"
    assert headers["Access-Control-Allow-Credentials"] is None


@pytest.mark.parametrize(
    "origin", ["https://evil.example", "null", "http://chat.example", f"{CHAT}:443", f"{CHAT}.evil.example"]
)
def test_another_origin_is_allowed_nothing(served: Served, origin: str) -> None:
    for method, path, headers in (
        ("OPTIONS", "/v1/models", PREFLIGHT),
        ("GET", "/v1/models", {}),
        ("GET", "/v1/models", {"Authorization": "Bearer wrong"}),
    ):
        _, fields, _ = ask(served, method, path, None, origin, **headers)
        assert not [name for name in fields if name.lower().startswith("access-control-")]
        assert fields["Vary"] == "Origin"  # a cache must not give this answer to a page that is allowed


CHAT_BODY = {"model": "alpha", "messages": [{"role": "user", "content": "Hi"}]}


@pytest.mark.parametrize(
    ("method", "path", "body", "headers", "status"),
    [
        ("GET", "/v1/models", None, {}, 200),
        ("POST", "/v1/chat/completions", CHAT_BODY, {}, 200),
        ("POST", "/v1/chat/completions", CHAT_BODY | {"stream": True}, {}, 200),
        ("POST", "/api/chat", CHAT_BODY, {}, 200),
        ("HEAD", "/", None, {"Authorization": ""}, 200),
        ("GET", "/v1/models", None, {"Authorization": ""}, 401),
        ("POST", "/v1/chat/completions", CHAT_BODY, {"Authorization": "Bearer wrong"}, 401),
        ("POST", "/v1/chat/completions", b"{", {}, 400),
        ("POST", "/v1/chat/completions", CHAT_BODY | {"model": "none"}, {}, 404),
        ("POST", "/v1/chat/completions", CHAT_BODY, {"Content-Type": "text/plain"}, 415),
        ("POST", "/api/chat", CHAT_BODY, {"Content-Type": "text/plain"}, 415),
        ("POST", "/v1/chat/completions", b"x" * 70_000, {"Authorization": "Bearer wrong"}, 401),
        ("POST", "/v1/responses", b"x" * 9_000_000, {}, 413),
        ("GET", "/no/such/path", None, {}, 404),
        ("DELETE", "/v1/models", None, {}, 405),
        ("GET", "/v1/models", None, {"X-Long": "x" * 70_000}, 431),
    ],
)
def test_every_answer_can_be_read_by_an_allowed_page(  # noqa: PLR0917 - the columns of the table
    served: Served, method: str, path: str, body: object, headers: dict[str, str], status: int
) -> None:
    try:
        answered, fields, _ = ask(served, method, path, body, **headers)
    except (BrokenPipeError, ConnectionResetError):  # the server refuses before all of the body was sent
        pytest.skip("the answer was lost with the connection")
    assert answered == status
    assert fields.get_all("Access-Control-Allow-Origin") == [CHAT]
    assert fields["Access-Control-Expose-Headers"] == EXPOSED
    assert fields["Access-Control-Allow-Credentials"] is None
    assert "Origin" in ", ".join(fields.get_all("Vary", []))
    standard = {"content-type", "content-length", "date", "connection", "transfer-encoding", "cache-control"}
    kept = {"x-content-type-options", "vary", "x-accel-buffering"}
    hidden = {name.lower() for name in fields} - standard - kept - set(EXPOSED.split(", "))
    assert not [name for name in hidden if not name.startswith("access-control-")]


def test_a_refusal_by_a_limit_can_be_read_with_the_limits(served: Served) -> None:
    key = {"Authorization": "Bearer sk-one"}
    answers = [ask(served, "POST", "/v1/chat/completions", CHAT_BODY, **key) for _ in range(3)]
    assert [status for status, _, _ in answers] == [200, 200, 429]
    fields = answers[2][1]
    assert fields["Access-Control-Allow-Origin"] == CHAT
    exposed = set(fields["Access-Control-Expose-Headers"].split(", "))
    assert {name.lower() for name in fields if name.lower().startswith("x-ratelimit")} <= exposed
    assert {"retry-after", "x-request-id"} <= exposed


def test_no_header_is_sent_without_the_setting(closed: Served) -> None:
    for method, headers in (("OPTIONS", PREFLIGHT), ("GET", {}), ("GET", {"Authorization": ""})):
        status, fields, _ = ask(closed, method, "/v1/models", None, **headers)
        assert status in (200, 401)
        assert not [name for name in fields if name.lower().startswith("access-control-")]
        assert fields["Vary"] is None


def test_any_origin_is_allowed_without_cookies_and_without_naming_it() -> None:
    anyone = CrossOrigin(["*"])
    fields = dict(anyone.fields({"HTTP_ORIGIN": "https://evil.example"}))
    assert fields == {"Access-Control-Allow-Origin": "*", "Access-Control-Expose-Headers": EXPOSED}
    asked = {"HTTP_ORIGIN": "https://x.example", "HTTP_ACCESS_CONTROL_REQUEST_METHOD": "POST"}
    assert anyone.preflight("OPTIONS", asked) is not None


@pytest.mark.parametrize("names", ["a: b", "a\r\nX: y", "x" * 5000, "", ",", "a,,b"])
def test_header_names_that_are_none_are_not_repeated(names: str) -> None:
    asked = {
        "HTTP_ORIGIN": CHAT,
        "HTTP_ACCESS_CONTROL_REQUEST_METHOD": "POST",
        "HTTP_ACCESS_CONTROL_REQUEST_HEADERS": names,
    }
    fields = CrossOrigin([CHAT]).preflight("OPTIONS", asked)
    assert fields is not None
    assert "Access-Control-Allow-Headers" not in fields


def test_a_page_may_reach_a_private_network_when_its_origin_is_named() -> None:
    asked = {
        "HTTP_ORIGIN": CHAT,
        "HTTP_ACCESS_CONTROL_REQUEST_METHOD": "POST",
        "HTTP_ACCESS_CONTROL_REQUEST_PRIVATE_NETWORK": "true",
    }
    name = "Access-Control-Allow-Private-Network"
    assert (CrossOrigin([CHAT]).preflight("OPTIONS", asked) or {})[name] == "true"
    assert name not in (CrossOrigin(["*"]).preflight("OPTIONS", asked) or {})


@pytest.mark.parametrize(
    "origins",
    [
        "https://chat.example/",
        "https://chat.example/path",
        "chat.example",
        "https://*.example",
        "https://Chat.example",
        "https://chat.example:443",
        "http://chat.example:80",
        "null",
        f"*,{CHAT}",
        "https://user@chat.example",
    ],
)
def test_a_text_that_is_no_origin_is_refused_at_the_start(tmp_path: Path, origins: str) -> None:
    environ = {"STOKER_DATA_DIR": str(tmp_path), "STOKER_API__ALLOWED_ORIGINS": origins}
    with pytest.raises(ConfigError, match=r"allowed_origins must be a list of origins such as https://"):
        load_settings(tmp_path, environ)


def test_origins_are_configured_as_a_list(tmp_path: Path) -> None:
    names = [CHAT, APP, "http://localhost:3000", "http://[::1]:8080", "chrome-extension://abcdef"]
    environ = {"STOKER_DATA_DIR": str(tmp_path), "STOKER_API__ALLOWED_ORIGINS": ", ".join(names)}
    assert load_settings(tmp_path, environ).api.allowed_origins == tuple(names)


@pytest.mark.parametrize("tenancy", [TenancySettings(), TenancySettings(trusted_proxies=("127.0.0.1",))])
def test_any_origin_needs_keys(settings: Settings, fakes: Fakes, tenancy: TenancySettings) -> None:
    settings = replace(settings, api=ApiSettings(allowed_origins=("*",)))
    make_services(settings, fakes)
    tenants = {} if not tenancy.trusted_proxies else settings.tenants
    with pytest.raises(ConfigError, match="any web page could send them"):
        make_services(replace(settings, tenants=tenants, tenancy=tenancy), fakes)


def test_an_allowed_origin_is_served_without_keys() -> None:
    mode = OpenMode((), allowed_origins=(CHAT,))
    mode.check("127.0.0.1:8080", CHAT)
    for host, origin in (("127.0.0.1:8080", "https://evil.example"), ("evil.example", CHAT)):
        with pytest.raises(Forbidden):
            mode.check(host, origin)
