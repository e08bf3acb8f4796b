"""The section `webhooks`: targets, and the hosts that they may have."""

from __future__ import annotations

from typing import Any

import pytest

from api.webhooks.targets import targets_of
from config.errors import ConfigError
from config.settings import ALERT_EVENTS, WEBHOOK_EVENTS, WebhookTarget

SECRET = "whsec_" + "A" * 40
TARGET = {"tenant": "default", "url": "https://hooks.example.com/a", "secret_variable": "HOOK"}


def section(hosts: tuple[str, ...] = ("hooks.example.com",), **changes: Any) -> dict[str, Any]:
    target = {**TARGET, **{name: value for name, value in changes.items() if name != "allow_private"}}
    target = {name: value for name, value in target.items() if value is not None}
    private = {"allow_private": True} if changes.get("allow_private") else {}
    return {"webhooks": {"allowed_hosts": [*hosts], "targets": {"crm": target}, **private}}


def test_target_is_read(load):
    settings = load(section(events=["response.failed"])).webhooks
    assert settings.targets == {
        "crm": WebhookTarget("default", "https://hooks.example.com/a", "HOOK", ("response.failed",))
    }
    assert load(section()).webhooks.targets["crm"].events == WEBHOOK_EVENTS
    assert load({}).webhooks.targets == {}


def test_a_target_of_alerts_alone_needs_no_tenant(load):
    given = section(tenant=None, events=["alert.firing", "alert.resolved"])
    target = load(given).webhooks.targets["crm"]
    assert (target.tenant, target.events) == (None, ALERT_EVENTS)


def test_http_is_read_when_private_addresses_are_allowed(load):
    changes = {"url": "http://10.0.0.5:8000/a", "allow_private": True}
    assert load(section(("10.0.0.5",), **changes)).webhooks.allow_private


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (section(()), "webhooks.targets.crm.url has the host hooks.example.com, which"),
        (section(url="http://hooks.example.com/a"), "url must be https"),
        (section(url="https://user:word@hooks.example.com/a"), "url must be an https URL"),
        (section(url="https://hooks.example.com@evil.example/a"), "url must be an https URL"),
        *(
            (section((host.partition(":")[0],), url=f"https://{host}/a"), "url must be an https URL")
            for host in (
                "hooks.example.com:99999",
                "hooks.example.com:0",
                "a..b",
                ".a",
                "..",
                f"{'a' * 64}.example",
            )
        ),
        (section(url=None), "url is missing"),
        (section(tenant=None), "tenant is missing"),
        (section(tenant=None, events=["alert.firing", "response.failed"]), "tenant is missing"),
        (section(events=[]), "events must be a list of"),
        (section(events=["response.done"]), "events must be a list of"),
        (section(secret_variable="whsec_abc"), "secret_variable must be"),
    ],
)
def test_target_is_refused_when_it_is_not_allowed(load, given, words):
    with pytest.raises(ConfigError, match="crm") as caught:
        load(given)
    assert words in str(caught.value)
    assert "word@" not in str(caught.value)


def test_secrets_are_read_from_the_environment(load):
    settings = load(section()).webhooks
    (target,) = targets_of(settings, {"HOOK": f"{SECRET} {SECRET}"}).values()
    assert (target.tenant, len(target.keys), len(target.keys[0])) == ("default", 2, 30)


@pytest.mark.parametrize("text", ["", "abc", "whsec_?", "whsec_AAAA", f"{SECRET} whsec_AAAA"])
def test_start_is_refused_when_a_variable_holds_no_secret(load, text):
    with pytest.raises(ConfigError, match="HOOK does not contain a secret"):
        targets_of(load(section()).webhooks, {"HOOK": text})
