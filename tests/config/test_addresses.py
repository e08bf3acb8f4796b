"""Addresses in the settings: a wrong one is one sentence that repeats no part of it."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from redis import ConnectionPool

from config.addresses import without_password, without_path
from tasks.app import transport_url
from tests.config.conftest import Load

REFUSAL = (
    "environment variable REDIS_URL: redis.url must be an address redis://..., rediss://... or unix://...; "
    "in its password, / is written %2F, # %23, ? %3F, @ %40, : %3A, and % %25"
)


@pytest.mark.parametrize(
    "url",
    [
        *(
            f"redis://{user}:Top{character}Secret@127.0.0.1:6379/0"
            for character in "/#?@:%[]"
            for user in ("", "u")
        ),
        "redis://u:12/34@h:6379/0",
        "redis://u:12?34@h:6379",
        "redis://u:12#34@h:6379",
        "redis://Secret:x/y@h",
        "rediss://:a?Secret=b@h:6379",
        "unix://:a/Secret@/run/redis.sock",
        "redis://:Secret@127.0.0.1:99999",
        "redis://:Secret@127.0.0.1:0",
        "redis://:Secret@127.0.0.1:port",
        "redis://:Secret@[::1/0",
        "redis://:Secret@[:::1]/0",
        "redis://:Secret@127.0.0.1/zero",
        "redis://:Secret@127.0.0.1/0?socket_timeout=abc",
        "redis://127.0.0.1/0?password=Secret",
        "redis://127.0.0.1/0?ssl_cert_reqs=none",
        "rediss://127.0.0.1/0?ssl_cert_reqs=Secret",
        "rediss://127.0.0.1/0?protocol=Secret",
        "redis://:Secret@",
        "redis://:Secret@h:6379/0\n",
        "redis:/:Secret@h:6379/0",
        "http://:Secret@h:6379/0",
        ":Secret@h:6379",
        "redis://:Secret@\u2100:6379",
    ],
)
def test_a_wrong_address_of_redis_is_one_sentence_without_the_password(
    problems: Callable[..., list[str]], url: str
) -> None:
    assert problems(environ={"REDIS_URL": url}) == [REFUSAL]


@pytest.mark.parametrize(
    ("url", "password"),
    [
        ("redis://127.0.0.1:6379/0", None),
        ("redis://:Top%2FSe%23cr%3Fe%40t%3A%25@127.0.0.1:6379/0", "Top/Se#cr?e@t:%"),
        ("redis://user:p~!$&'()*+,;=-._\u00fc@h", "p~!$&'()*+,;=-._\u00fc"),
        ("rediss://u:p@redis_1.local:6380/15?ssl_ca_certs=/etc/ca.pem&ssl_cert_reqs=required", "p"),
        ("redis://:p@[::1]:6379/0", "p"),
        ("unix:///run/redis.sock?db=2", None),
        ("unix://:p@/run/redis.sock", "p"),
    ],
)
def test_a_right_address_of_redis_is_used_by_both_libraries(
    load: Load, url: str, password: str | None
) -> None:
    settings = load(environ={"REDIS_URL": url})
    assert settings.redis.url == url
    assert ConnectionPool.from_url(url).connection_kwargs.get("password") == password
    assert transport_url(url)


@pytest.mark.parametrize(
    ("path", "url"),
    [
        (path, url)
        for path in ("flower.url", "files.storage", "models.m.openai_remote_url", "webhooks.targets.t.url")
        for url in (
            "https://user:Secret@host/v1",
            "https://user:Sec/ret@host/v1",
            "https://Secret@h:99999/",
            "https://[::Secret/",
            "https://h:99999/Secret",
            "https://a..b/Secret",
            "https://[:::]/Secret",
            "s3://key:Secret@bucket",
        )
    ],
)
def test_no_error_repeats_a_part_of_an_address(
    problems: Callable[..., list[str]], path: str, url: str
) -> None:
    fields = path.split(".")
    local: object = url
    for name in reversed(fields):
        local = {name: local}
    if path.startswith("models"):
        local = {"models": {"m": {"backend": "openai_remote", "openai_remote_url": url}}}
    if path.startswith("webhooks"):
        target = {
            "tenant": "default",
            "url": url,
            "secret_variable": "HOOK",
            "events": ["response.completed"],
        }
        local = {"webhooks": {"allowed_hosts": ["h", "host"], "targets": {"t": target}}}
    text = "\n".join(problems(local=local))
    assert path in text
    for part in ("Secret", "Sec", "ret@", "99999"):
        assert part not in text


def test_an_address_in_another_field_is_not_repeated(problems: Callable[..., list[str]]) -> None:
    local = {"log_level": "redis://:Secret@h", "api": {"port": "http://u:Secret@h"}}
    text = "\n".join(problems(local=local))
    assert "Secret" not in text
    assert "log_level" in text
    assert "api.port" in text


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("redis://h:1/0", "redis://h:1/0"),
        ("redis://:p%2Fw@h:1/0", "redis://:***@h:1/0"),
        ("redis://u:pw@h:1/0", "redis://u:***@h:1/0"),
        ("unix://u:pw@/run/a@b", None),
        ("unix:///run/redis.sock?db=2", "unix:///run/redis.sock?db=2"),
    ],
)
def test_an_address_is_shown_without_its_password(url: str, shown: str | None) -> None:
    if shown is not None:
        assert without_password(url) == shown
    assert "pw" not in without_password(url)
    assert "p%2Fw" not in without_password(url)


def test_the_address_of_a_webhook_is_shown_without_its_path() -> None:
    assert without_path("https://hooks.example:444/T0/secret?x=1") == "https://hooks.example:444/***"
    assert without_path("https://hooks.example") == "https://hooks.example"
    assert json.dumps(without_path("https://h/")) == '"https://h/***"'
