"""Rate limits as text, in settings and in variables."""

from __future__ import annotations

import pytest

from config.errors import ConfigError
from config.rate_limit import RateLimit


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("100req/min", ("100/min", 100, 60)),
        ("100/min", ("100/min", 100, 60)),
        ("5 requests per second", ("5/s", 5, 1)),
        ("7/h", ("7/hour", 7, 3600)),
        ("20000tok/day", ("20000/day", 20_000, 86_400)),
        (" 1Req/Min ", ("1/min", 1, 60)),
    ],
)
def test_a_rate_limit_is_read_from_its_forms(text, expected):
    limit = RateLimit(text)

    assert (limit, limit.most, limit.window_s) == expected
    assert RateLimit(limit) == limit


@pytest.mark.parametrize("text", ["", "100", "0/min", "-1/min", "1.5/min", "9999999999/s", "5/week", "5/"])
def test_a_text_of_another_form_is_no_rate_limit(text):
    with pytest.raises(ValueError, match="not a rate limit"):
        RateLimit(text)


def test_a_tenant_and_the_default_have_limits_of_the_settings(load):
    settings = load(
        {
            "tenants": {"acme": {"rate_limit": "500req/min", "max_running": 4}},
            "tenancy": {"rate_limit": "9/s"},
        }
    )

    assert settings.tenants["acme"].rate_limit == "500/min"
    assert settings.tenants["acme"].max_running == 4
    assert settings.tenancy.rate_limit == "9/s"


def test_variables_set_the_limits_of_tenants(load):
    settings = load(
        {"tenants": {"acme": {"weight": 3}}},
        environ={
            "TENANT_RATE_LIMIT_acme": "500req/min",
            "TENANT_RATE_LIMIT_community-x": "100req/min",
            "TENANT_RATE_LIMIT_COMMUNITY__Y": "7/s",
            "TENANT_RATE_LIMIT_default": "50req/min",
            "DEFAULT_RATE_LIMIT": "100req/min",
            "ENABLE_MULTI_TENANT": "false",
        },
    )

    limits = {name: str(tenant.rate_limit) for name, tenant in settings.tenants.items()}
    assert limits == {"acme": "500/min", "community-x": "100/min", "community-y": "7/s", "default": "50/min"}
    assert settings.tenants["acme"].weight == 3
    assert settings.tenancy.rate_limit == "100/min"
    assert settings.tenancy.enabled is False


def test_a_variable_without_a_rate_limit_is_named_in_the_error(load):
    with pytest.raises(ConfigError, match=r"TENANT_RATE_LIMIT_acme: tenants\.acme\.rate_limit must be"):
        load({}, environ={"TENANT_RATE_LIMIT_acme": "many"})


def test_a_variable_that_names_no_tenant_is_an_error(load):
    with pytest.raises(ConfigError, match="environment variable TENANT_RATE_LIMIT_: name a tenant"):
        load({}, environ={"TENANT_RATE_LIMIT_": "5/s"})


def test_two_variables_for_one_tenant_are_an_error(load):
    names = ("TENANT_RATE_LIMIT_A__B", "TENANT_RATE_LIMIT_a-b")
    with pytest.raises(ConfigError, match=f"variables {names[0]} and {names[1]}: both set tenants.a-b.rate"):
        load({}, environ=dict.fromkeys(names, "5/s"))


def test_a_variable_sets_a_number_that_may_be_null(load):
    assert load({}, environ={"STOKER_QUEUE__RESERVE_ONE_IN": "8"}).queue.reserve_one_in == 8


def test_a_proxy_is_an_address_or_a_network(load):
    assert load({"tenancy": {"trusted_proxies": ["10.0.0.0/8", "::1"]}}).tenancy.trusted_proxies
    with pytest.raises(ConfigError, match=r"tenancy\.trusted_proxies must be a list of IP addresses"):
        load({"tenancy": {"trusted_proxies": ["10.0.0.1/8"]}})
