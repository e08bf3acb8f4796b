"""The schema of the section `oidc`: the provider, and the roles that its claims give."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from marshmallow import ValidationError, fields, validates_schema

from backends.declaration import FORMATS, VARIABLE_NAME
from config.fields import AddressField, NamedEntries, Section, StrictField, choice, integer, matching
from config.loopback import is_loopback
from config.settings import ROLES, OidcGroup, OidcSettings
from config.tenant_schema import TENANT_NAME

URL = r"https?://(\[[0-9A-Fa-f:.]+\]|[0-9A-Za-z_.-]+)(:[0-9]{1,5})?(/[!\x24-\x3e\x40-~]*)?"
"""Without a user, a query and a fragment."""

SIGN_IN_PAGE = "/ui/sign-in"
MAX_GROUPS = 256
GROUP = r"[^\x00-\x1f\x7f]{1,256}"
SCOPE = re.compile(r"[!\x23-\x5b\x5d-~]{1,128}")
DOMAIN = re.compile(r"[a-z0-9-]+(\.[a-z0-9-]+)+")


def is_safe_url(url: str) -> bool:
    """Whether secrets may be sent to this address: https, or http to this machine."""
    parts = urlsplit(url)
    return parts.scheme == "https" or (parts.scheme == "http" and is_loopback(parts.hostname or ""))


def _texts(expects: str, pattern: re.Pattern[str], most: int) -> StrictField:
    return StrictField(
        f"a list of at most {most} {expects}",
        lambda value: (
            isinstance(value, list)
            and len(value) <= most
            and all(isinstance(item, str) and pattern.fullmatch(item) for item in value)
        ),
        convert=tuple,
    )


class OidcGroupSchema(Section):
    """One of `oidc.groups`."""

    role = choice(ROLES)
    tenant = matching(TENANT_NAME, "the name of a tenant", nullable=True)

    @validates_schema
    def _has_a_role(self, data: dict[str, Any], **_: object) -> None:
        if "role" not in data:
            raise ValidationError({"role": [f"is missing: name one of {', '.join(ROLES)}"]})


def _read_group(_name: str, raw: Mapping[str, Any]) -> object:
    return OidcGroupSchema().load(raw)


class OidcSchema(Section):
    """`oidc`."""

    issuer = AddressField(
        URL, "an https URL (http only for this machine) without user, query and fragment", nullable=True
    )
    client_id = matching(r"[ -~]{1,256}", "1 to 256 visible characters", nullable=True)
    secret_variable = matching(
        FORMATS[VARIABLE_NAME], "a string like OIDC_SECRET", secret=True, nullable=True
    )
    name = matching(r"[^\x00-\x1f\x7f]{1,64}", "1 to 64 characters on one line")
    scopes = _texts("scopes, of visible characters", SCOPE, 32)
    redirect_url = AddressField(
        URL, f"an https URL (http only for this machine) that ends with {SIGN_IN_PAGE}", nullable=True
    )
    claim = matching(r"[!-~]{1,128}", "the name of a claim")
    groups: fields.Field[Any] = NamedEntries("value of the claim", GROUP, _read_group)
    default_role = choice(ROLES, nullable=True)
    tenant = matching(TENANT_NAME, "the name of a tenant")
    email_domains = _texts("domains such as example.com, in lower case", DOMAIN, 64)
    session_s = integer(60, 30 * 86_400)

    @validates_schema
    def _is_complete(self, data: dict[str, Any], **_: object) -> None:
        if data.get("issuer") is None:
            return
        problems: dict[str, Any] = {}
        for name in ("issuer", "redirect_url"):
            if data.get(name) is not None and not is_safe_url(data[name]):
                problems[name] = ["must be https: http is only for an address of this machine"]
        redirect_url = data.get("redirect_url")
        if redirect_url is not None and not redirect_url.endswith(SIGN_IN_PAGE):
            problems["redirect_url"] = [f"must end with {SIGN_IN_PAGE}, the path of the sign-in page"]
        if data.get("client_id") is None:
            problems["client_id"] = ["is missing: the provider gives it when Stoker is registered there"]
        if "openid" not in data.get("scopes", ("openid",)):
            problems["scopes"] = ["must contain openid"]
        if not data.get("groups") and data.get("default_role") is None:
            problems["groups"] = ["is empty, and so is default_role: without both no person may sign in"]
        if len(data.get("groups", ())) > MAX_GROUPS:
            problems["groups"] = [f"has more than {MAX_GROUPS} entries"]
        if problems:
            raise ValidationError(problems)


def oidc_settings(values: Mapping[str, Any]) -> OidcSettings:
    """The settings of validated values."""
    groups = {name: OidcGroup(**group) for name, group in values.get("groups", {}).items()}
    return OidcSettings(**{**values, "groups": groups})
