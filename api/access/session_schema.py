"""The bodies of /v1/session."""

from __future__ import annotations

import marshmallow
from marshmallow import fields

from api.access.oidc.schema import OidcAnswer
from api.http.strict_fields import BooleanField, NestedField, StringField
from api.http.strict_schema import StrictSchema
from config.settings import ROLES

MAX_SECRET = 512


class SignInBody(StrictSchema):
    """Exactly one: an API key, the token of a sign-in link, or the answer of the OpenID Connect provider."""

    closed = True

    key = StringField("An API key.", min_length=1, max_length=MAX_SECRET)
    link = StringField("The token of a sign-in link.", min_length=1, max_length=MAX_SECRET)
    oidc = NestedField("The provider's answer, for a sign-in that `POST /v1/session/oidc` began.", OidcAnswer)
    admin = BooleanField("With the admin part, which ends after 30 minutes without a request. A link has it.")


class SessionPerson(marshmallow.Schema):
    """A person who signed in by the provider."""

    id = fields.String(
        required=True, metadata={"description": "The same at each sign-in: whose the stored responses are."}
    )
    name = fields.String(required=True)
    email = fields.String(
        required=True, allow_none=True, metadata={"description": "Null unless the provider verified it."}
    )
    roles = fields.List(fields.String(metadata={"enum": list(ROLES)}), required=True)


class SessionObject(marshmallow.Schema):
    """Who the caller is."""

    signed_in = fields.Boolean(required=True)
    open = fields.Boolean(
        required=True, metadata={"description": "The platform has no API keys, so no sign-in is needed."}
    )
    tenant = fields.String(required=True, allow_none=True)
    scopes = fields.List(
        fields.String(), required=True, metadata={"description": "What this session may do now."}
    )
    key_scopes = fields.List(
        fields.String(), required=True, metadata={"description": "What its key may do, with the admin part."}
    )
    person = fields.Nested(
        SessionPerson,
        required=True,
        allow_none=True,
        metadata={"description": "Who signed in by the provider; null for the session of a key."},
    )
    provider = fields.String(
        required=True,
        allow_none=True,
        metadata={"description": "The name of the provider by which people sign in; null without one."},
    )
    to = fields.String(
        metadata={"description": "The page to return to, after a sign-in by the provider."},
    )
    version = fields.String(
        required=True, allow_none=True, metadata={"description": "Of the platform; null without a session."}
    )
    flower_url = fields.String(
        required=True,
        allow_none=True,
        metadata={
            "description": "The address of Flower (`flower.url`), for the scope `admin`; null without one."
        },
    )


class SignInLink(marshmallow.Schema):
    """A link that signs in once."""

    token = fields.String(required=True)
    path = fields.String(required=True, metadata={"description": "Below the address of the API."})
    expires_in_s = fields.Integer(required=True)
