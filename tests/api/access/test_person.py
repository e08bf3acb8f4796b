"""A person from the claims of a provider and from a stored session, and which keys a caller reads about."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import orjson
import pytest

from api.access.caller import Caller
from api.access.oidc.claims import person_of
from api.access.person import NOT_DECIDING, Person, decode_person, digest_of_rules
from config.api_keys import ApiKey
from config.settings import OidcGroup, OidcSettings, Tenant

ADA = Person("https://idp.example.com", "id-of-ada", "Ada", None, ("viewer",), "one")


def test_a_group_that_is_an_address_matches_when_its_domain_has_capitals() -> None:
    settings = OidcSettings(
        issuer=ADA.issuer,
        client_id="stoker",
        claim="email",
        groups={"Alice@Example.com": OidcGroup("viewer")},
    )
    for email in ("Alice@example.com", "Alice@EXAMPLE.com"):
        claims = {"sub": "id-of-alice", "email": email, "email_verified": True}
        assert person_of(claims, settings).roles == ("viewer",)


def test_the_actor_of_a_person_without_an_address_is_no_address_of_another() -> None:
    other = Person(ADA.issuer, "other", "Other", "id-of-ada@idp.example.com", ("viewer",), "one")
    assert ADA.actor == "sub:id-of-ada@idp.example.com"
    assert ADA.actor != other.actor


def test_a_stored_person_is_read_when_another_version_has_written_further_fields() -> None:
    stored = {**orjson.loads(ADA.encode()), "picture": "https://idp.example.com/ada"}
    assert decode_person(orjson.dumps(stored)) == ADA


def test_a_stored_person_is_read_without_rules_when_an_earlier_version_has_written_none() -> None:
    stored = orjson.loads(replace(ADA, rules="0123456789abcdef").encode())
    del stored["rules"]
    assert decode_person(orjson.dumps(stored)) == ADA


CHANGES: dict[str, Any] = {
    "issuer": "https://other.example.com",
    "client_id": "other",
    "claim": "roles",
    "groups": {"staff": OidcGroup("viewer", "two"), "admins": OidcGroup("admin", "one")},
    "default_role": "viewer",
    "tenant": "one",
    "email_domains": ("example.com",),
    "session_s": 60,
    "name": "Acme",
    "redirect_url": "https://stoker.example.com/ui/sign-in",
    "scopes": ("openid",),
    "secret_variable": "OIDC_SECRET",
}


@pytest.mark.parametrize("name", [field.name for field in fields(OidcSettings)])
def test_the_digest_of_rules_differs_when_a_setting_that_decides_about_people_changes(name: str) -> None:
    groups = {"admins": OidcGroup("admin", "one"), "staff": OidcGroup("viewer", "two")}
    settings = OidcSettings(issuer=ADA.issuer, client_id="stoker", groups=groups)
    changed = replace(settings, **{name: CHANGES[name]})
    assert (digest_of_rules(changed) == digest_of_rules(settings)) is (name in NOT_DECIDING)
    assert digest_of_rules(replace(settings, groups=dict(groups))) == digest_of_rules(settings)


@pytest.mark.parametrize(
    ("own", "others", "sees"),
    [
        ({"read"}, {"admin"}, True),
        ({"inference", "operate"}, {"inference", "read"}, True),
        ({"inference"}, {"inference"}, True),
        ({"inference"}, {"inference", "read"}, False),
        ({"inference"}, {"metrics"}, False),
    ],
)
def test_a_caller_sees_keys_with_no_scope_that_it_lacks_and_each_when_it_may_read(
    own: set[str], others: set[str], sees: bool
) -> None:
    caller = Caller(Tenant("one"), "normal", ApiKey("key_1", "", "one", frozenset(own)))
    assert caller.sees(ApiKey("key_2", "", "one", frozenset(others))) is sees
