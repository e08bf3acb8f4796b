"""The tenants and API keys that commands made, and their form in Redis: one JSON text for each."""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import orjson
from marshmallow import ValidationError

from config.api_keys import ApiKey
from config.settings import Tenant
from config.tenant_schema import TenantSchema

logger = logging.getLogger("api")

TENANT_FIELDS = tuple(
    item.name
    for item in dataclasses.fields(Tenant)
    if item.name not in ("name", "api_keys_sha256", "admin", "configured")
)
"""The fields of a tenant that commands set."""

SCHEMA = TenantSchema()


@dataclass(frozen=True, slots=True)
class TenantRecord:
    """A tenant that a command made or changed. `removed_at`: when it was removed; its name is still taken.

    `fields` are those of `TENANT_FIELDS` that commands set. `created_at` is 0 if no command made the
    tenant: it is one of the configuration, and ends with it. Times are Unix times in seconds.
    """

    fields: Mapping[str, Any] = field(default_factory=dict)
    created_at: float = 0.0
    removed_at: float | None = None

    @property
    def makes_tenant(self) -> bool:
        """Whether the tenant exists although the configuration does not name it."""
        return self.created_at > 0 and self.removed_at is None

    def over(self, tenant: Tenant) -> Tenant:
        """The tenant with these fields; those that the configuration names win."""
        own = {name: value for name, value in self.fields.items() if name not in tenant.configured}
        return replace(tenant, **own) if own else tenant


@dataclass(frozen=True, slots=True)
class StoredAccess:
    """All records. `version` changes with each of them; "" before the first."""

    version: str = ""
    tenants: Mapping[str, TenantRecord] = field(default_factory=dict)
    keys: tuple[ApiKey, ...] = ()

    def key(self, id: str) -> ApiKey | None:
        """The key of that id, or None."""
        return next((key for key in self.keys if key.id == id), None)


def encode_tenant(record: TenantRecord) -> bytes:
    """The JSON text of a tenant."""
    return orjson.dumps({name: getattr(record, name) for name in TenantRecord.__slots__})


def decode_tenant(name: str, text: bytes) -> TenantRecord:
    """A tenant from its JSON text. A field that is not valid (of another version) is left out, and logged."""
    raw = orjson.loads(text)
    given = {
        field_name: raw["fields"][field_name] for field_name in TENANT_FIELDS if field_name in raw["fields"]
    }
    try:
        fields = SCHEMA.load(given)
    except ValidationError as error:
        for field_name in error.messages_dict:
            logger.warning("%s of the tenant %s in Redis is not valid and is ignored", field_name, name)
        fields = error.valid_data
    return TenantRecord(fields, raw["created_at"], raw["removed_at"])


def encode_key(key: ApiKey) -> bytes:
    """The JSON text of a key, without its digest."""
    values = {name: getattr(key, name) for name in ApiKey.__slots__ if name not in ("digest", "configured")}
    values["scopes"] = sorted(key.scopes)
    values["models"] = None if key.models is None else sorted(key.models)
    return orjson.dumps(values)


def decode_key(digest: str, text: bytes) -> ApiKey | None:
    """A key from its digest and its JSON text.

    None, and logged, for a record of another version: a bound that is not understood must not be ignored.
    """
    raw = orjson.loads(text)
    try:
        models = None if raw["models"] is None else frozenset(raw["models"])
        return ApiKey(**raw | {"digest": digest, "scopes": frozenset(raw["scopes"]), "models": models})
    except (KeyError, TypeError):
        logger.warning("the key %s in Redis was written by another version and is rejected", raw.get("id"))
        return None
