"""Without API keys, web pages of other origins and DNS rebinding reach nothing."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest
from flask import Flask

from api.access.open_mode import OpenMode
from api.http.errors import Forbidden
from config.errors import ConfigError
from config.load import load_settings
from config.settings import ApiSettings, Settings
from tests.api.conftest import KEY, make_services
from tests.support.api_fakes import Fakes
from tests.support.wsgi_answers import create_app

OWN = "127.0.0.1:8080"
PATHS = ["/v1/models", "/v1/admin/models/demo/unload", "/health", "/docs", "/no-such-path"]
METHODS = ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"]


@pytest.fixture
def named_app(settings: Settings, fakes: Fakes) -> Flask:
    """The app of a platform without keys that has further names."""
    api = ApiSettings(allowed_hosts=("gpu.Example", "localhost:5173"))
    settings = replace(settings, tenants={}, api=api)
    return create_app(settings, make_services(settings, fakes))


@pytest.mark.parametrize(
    ("headers", "code"),
    [
        ({"Host": OWN, "Origin": "http://evil.example"}, "origin_not_allowed"),
        ({"Host": OWN, "Origin": "http://127.0.0.1:3000"}, "origin_not_allowed"),
        ({"Host": OWN, "Origin": "null"}, "origin_not_allowed"),
        ({"Host": "evil.example"}, "host_not_allowed"),
        ({"Host": "evil.example:8080", "Origin": "http://evil.example:8080"}, "host_not_allowed"),
    ],
)
def test_a_foreign_origin_or_host_is_refused_on_every_method(
    open_app: Flask, fakes: Fakes, headers: dict[str, str], code: str
) -> None:
    client, before = open_app.test_client(), dict(fakes.fleet.states)
    for path, method in product(PATHS, METHODS):
        answer = client.open(path, method=method, headers=headers)
        assert answer.status_code == 403, (path, method, answer.data)
        if method != "HEAD":
            assert (answer.json["error"]["code"], answer.json["error"]["type"]) == (code, "permission_error")
    assert fakes.fleet.states == before


def test_a_loopback_host_and_its_own_pages_are_served(open_app: Flask) -> None:
    client = open_app.test_client()
    for headers in (
        {"Host": OWN},
        {"Host": OWN, "Origin": f"http://{OWN}"},
        {"Host": "localhost:8080", "Origin": "http://localhost:8080"},
        {"Host": "LOCALHOST"},
        {"Host": "[::1]:8080"},
        {"Host": "[::1]", "Origin": "http://[::1]"},
        {"Host": "127.9.9.9"},
    ):
        assert client.get("/v1/models", headers=headers).status_code == 200, headers


@pytest.mark.parametrize(
    "host",
    ["", "localhost.evil.example", "127.0.0.1.evil.example", "10.0.0.1:80", "[::2]", "localhost:x", "::1:x"],
)
def test_a_name_that_resembles_loopback_is_refused(host: str) -> None:
    with pytest.raises(Forbidden):
        OpenMode(()).check(host, None)


def test_hosts_are_configured_as_a_list(tmp_path: Path) -> None:
    environ = {"STOKER_DATA_DIR": str(tmp_path), "STOKER_API__ALLOWED_HOSTS": "gpu.example, localhost:5173"}
    assert load_settings(tmp_path, environ).api.allowed_hosts == ("gpu.example", "localhost:5173")
    with pytest.raises(ConfigError, match=r"allowed_hosts must be a list of host names"):
        load_settings(tmp_path, environ | {"STOKER_API__ALLOWED_HOSTS": "http://gpu.example"})


def test_configured_hosts_are_served(named_app: Flask) -> None:
    client = named_app.test_client()
    for headers, status in (
        ({"Host": "gpu.example:9000"}, 200),
        ({"Host": "GPU.example", "Origin": "https://gpu.example"}, 200),
        ({"Host": OWN, "Origin": "http://localhost:5173"}, 200),  # a development server's page
        ({"Host": OWN, "Origin": "http://localhost:5174"}, 403),
        ({"Host": "other.example"}, 403),
    ):
        assert client.get("/v1/models", headers=headers).status_code == status, headers


def test_with_keys_the_key_decides(app: Flask) -> None:
    headers = {"Host": "stoker.example", "Origin": "http://other.example", "x-api-key": KEY}
    assert app.test_client().get("/v1/models", headers=headers).status_code == 200
