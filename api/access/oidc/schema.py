"""The bodies of /v1/session/oidc."""

from __future__ import annotations

import marshmallow
from marshmallow import fields

from api.http.strict_fields import BooleanField, StringField
from api.http.strict_schema import StrictSchema

MAX_PART = 4096
"""Characters of each part of the provider's answer: it comes in an address."""

PAGE = r"/([a-z][a-z-]*(/[a-z][a-z-]*)*)?(\?[A-Za-z0-9*._+%&=-]*)?"
"""A path of the UI, which names no host, and a query as `URLSearchParams` writes it."""

MAX_PAGE = 1024
"""Characters of it: it is in the sealed cookie, and browsers keep cookies of 4 KiB."""

_CHARACTER = r"([A-Za-z0-9._~!$&'()*+,;=:@-]|%(?!2[EeFf]|5[Cc])[0-9A-Fa-f]{2})"
BASE_PATH = rf"(/(?!\.\.?(/|$)){_CHARACTER}+)*"
"""A path (RFC 3986, 3.3) without `.`, `..`, empty segments and a query, nor `.`, `/` and `\\` as `%..`."""

MAX_BASE_PATH = 256


class OidcBody(StrictSchema):
    """The page to return to."""

    closed = True

    to = StringField(
        "The path of a page of the UI with its query, form-encoded; `/` unless set.",
        max_length=MAX_PAGE,
        pattern=PAGE,
    )
    base_path = StringField(
        "The path below which a reverse proxy serves the platform, as the browser sees it (`/stoker` for"
        " `/stoker/ui`); empty unless set. It is in the address to which the provider sends the browser back,"
        " unless `oidc.redirect_url` is set.",
        max_length=MAX_BASE_PATH,
        pattern=BASE_PATH,
    )
    admin = BooleanField("With the admin part, which ends after 30 minutes without a request.")


class OidcAnswer(StrictSchema):
    """The parameters with which the provider sent the browser back."""

    closed = True

    state = StringField("The state.", required=True, min_length=1, max_length=512)
    code = StringField("The code; missing if the provider refused.", min_length=1, max_length=MAX_PART)
    iss = StringField("The issuer, if the provider names it (RFC 9207).", max_length=1024)
    error = StringField("Why the provider refused.", max_length=64, pattern=r"[A-Za-z0-9_.-]*")


class AuthorizationUrl(marshmallow.Schema):
    """Where the person signs in."""

    url = fields.String(required=True)
