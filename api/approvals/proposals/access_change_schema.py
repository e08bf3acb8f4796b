"""The bodies of proposals that change tenants and keys. A key's secret is in none of them: only its
digest."""

from __future__ import annotations

from api.access.access_schema import KeyFields, TenantFields
from api.http.strict_fields import EnumField, NestedField, StringField
from api.http.strict_schema import StrictSchema
from config.tenant_schema import TENANT_NAME

DIGEST = r"[0-9a-f]{64}"
HINT = r"[!-~]{0,8}"
MAX_ID = 64


def _change(name: str) -> EnumField:
    return EnumField("What is changed.", (name,), required=True)


def _tenant(about: str) -> StringField:
    return StringField(about, required=True, max_length=64, pattern=TENANT_NAME, example="acme")


class _ClosedBody(StrictSchema):
    closed = True  # what is signed is what is done: no field is ignored


class AddTenant(_ClosedBody):
    """A new tenant."""

    change = _change("add_tenant")
    name = _tenant("Its name.")
    values = NestedField("As of `POST /v1/admin/tenants`.", TenantFields)


class SetTenant(_ClosedBody):
    """Other fields of a tenant."""

    change = _change("set_tenant")
    name = _tenant("The tenant.")
    values = NestedField(
        "As of `PATCH /v1/admin/tenants/{name}`; null removes one.", TenantFields, required=True
    )


class RemoveTenant(_ClosedBody):
    """The end of a tenant and its keys."""

    change = _change("remove_tenant")
    name = _tenant("The tenant.")


class CreateKey(_ClosedBody):
    """A new key, which the proposer has made."""

    change = _change("create_key")
    tenant = _tenant("Its tenant.")
    digest = StringField("SHA-256 of the key, in hex.", required=True, pattern=DIGEST)
    hint = StringField("The last characters of the key, for people.", pattern=HINT)
    values = NestedField("As of `POST /v1/admin/keys`.", KeyFields)


class SetKey(_ClosedBody):
    """Other fields of a key."""

    change = _change("set_key")
    id = StringField("The key.", required=True, min_length=1, max_length=MAX_ID)
    values = NestedField("As of `PATCH /v1/admin/keys/{id}`; null removes a bound.", KeyFields, required=True)


class RevokeKey(_ClosedBody):
    """The end of a key."""

    change = _change("revoke_key")
    id = StringField("The key.", required=True, min_length=1, max_length=MAX_ID)


ACCESS_CHANGES: dict[str, type[StrictSchema]] = {
    "add_tenant": AddTenant,
    "set_tenant": SetTenant,
    "remove_tenant": RemoveTenant,
    "create_key": CreateKey,
    "set_key": SetKey,
    "revoke_key": RevokeKey,
}
"""The body of each change."""
