"""Header fields that other servers believe: names of CGI variables, and those that proxies add."""

from __future__ import annotations

import pytest

from tests.journeys.hostile.conftest import Target
from tests.support.raw_http import Answer, request

pytestmark = [pytest.mark.journey, pytest.mark.hostile]

FORGED = [
    {"SCRIPT_NAME": "/v1"},
    {"Script-Name": "/v1"},
    {"PATH_INFO": "/health"},
    {"REMOTE_USER": "admin", "REMOTE_ADDR": "10.0.0.1"},
    {"X-Forwarded-For": "10.0.0.1", "X-Real-IP": "10.0.0.1"},
    {"X-Forwarded-Prefix": "/other", "X-Script-Name": "/other"},
    {"X-Forwarded-Proto": "https", "X-Forwarded-Ssl": "on", "X-Forwarded-Port": "443"},
    {"X-Forwarded-Host": "example.org", "X-Host": "example.org"},
    {"Forwarded": "for=10.0.0.1;host=example.org;proto=https"},
    {"X-HTTP-Method-Override": "DELETE", "X-Original-URL": "/health", "X-Rewrite-URL": "/health"},
    {"Connection": "X-Api-Key, Authorization"},
]


def visible(answer: Answer) -> tuple[int, dict[str, str], bytes]:
    """An answer without what differs in each: the request's id and the time."""
    changing = ("x-request-id", "request-id", "date")
    return (
        answer.status,
        {name: value for name, value in answer.headers.items() if name not in changing},
        answer.body,
    )


@pytest.mark.parametrize(
    "path", ["/v1/models", "/docs", "/openapi.json", "/static/none", "/v1/responses/none"]
)
def test_fields_that_a_proxy_would_add_change_nothing(target: Target, path: str) -> None:
    plain = visible(target.exchange(target.get(path)))
    for fields in FORGED:
        assert visible(target.exchange(target.get(path, **fields))) == plain, fields


@pytest.mark.parametrize("name", ["X_API_KEY", "HTTP_AUTHORIZATION", "HTTP_X_API_KEY", "Proxy-Authorization"])
def test_a_key_in_a_field_with_another_name_is_no_key(target: Target, name: str) -> None:
    line = f"{name}: {'' if 'KEY' in name else 'Bearer '}{target.key}\r\n".encode()
    data = request("GET", "/v1/models")
    answer = target.exchange(data[:-2] + line + b"\r\n")
    assert answer.status == 401


def test_a_field_with_an_underscore_does_not_replace_the_real_one(target: Target) -> None:
    data = target.get("/v1/models")
    for forged in (b"X_Tenant_ID: other\r\n", b"X_Priority: nonsense\r\n", b"Content_Length: 50\r\n"):
        assert target.exchange(data[:-2] + forged + b"\r\n").status == 200
        assert target.exchange(data.replace(b"Host:", forged + b"Host:")).status == 200


def test_a_target_in_absolute_form_is_answered_as_its_path(target: Target) -> None:
    for start in ("http://stoker", "http://example.org:99", "HTTP://stoker"):
        assert target.exchange(request("GET", f"{start}/health?x=1")).status == 200
    assert target.exchange(request("GET", "http://stoker/v1/models")).status == 401


@pytest.mark.parametrize(
    ("method", "path"),
    [("CONNECT", "stoker:443"), ("OPTIONS", "*"),  ("GET", "/%2e%2e/health"),
     ("GET", "/static/..%2f..%2fsettings.json"), ("GET", "/health%00"), ("GET", "/v1/responses/%ff%fe"),
     ("TRACE", "/health"), ("BREW", "/health"), ("GET", "/v1/responses/" + "x" * 5000)],
)  # fmt: skip
def test_unusual_targets_and_methods_get_an_error(target: Target, method: str, path: str) -> None:
    answer = target.exchange(target.get(path).replace(b"GET", method.encode(), 1))
    assert 400 <= answer.status < 500 or answer.status == 501, answer
    assert answer.error()["type"] == "invalid_request_error"
