"""The rules for changes of API keys by commands. A key of the configuration is changed there."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from api.access.access_preview import AccessPreview
from api.access.access_records import StoredAccess
from api.access.access_store import AccessStore, Change
from api.access.authority import Authority
from api.access.registry import AccessRegistry
from api.access.tenant_changes import no_such_tenant
from api.http.errors import Conflict, NotFound, UnprocessableRequest
from config.api_keys import INFERENCE, ApiKey, digest_of, hint_of, new_secret
from fleet.catalogue import ModelCatalogue
from store.errors import StokerError

MAX_KEYS = 10_000
MAX_KEYS_PER_TENANT = 1000


class KeyChanges:
    """Creates, changes and revokes keys. Raises `ApiError` for what is not possible, and changes nothing."""

    def __init__(
        self, catalogue: ModelCatalogue, registry: AccessRegistry, store: AccessStore | AccessPreview
    ) -> None:
        self._catalogue = catalogue
        self._registry = registry
        self._store = store

    def create(self, authority: Authority, tenant: str, fields: Mapping[str, Any]) -> tuple[str, ApiKey]:
        """Create a key; returns it in clear text, which is stored nowhere, and its record."""
        secret = new_secret()
        return secret, self.add(authority, tenant, digest_of(secret), hint_of(secret), fields)

    def add(
        self, authority: Authority, tenant: str, digest: str, hint: str, fields: Mapping[str, Any]
    ) -> ApiKey:
        """Add a key of which only the digest (SHA-256, hex) and its last characters are known."""
        if not self._registry.configured.any_keys:
            raise Conflict(
                "this platform is open, so no request needs a key: configure an administrator's key "
                "first (STOKER_ADMIN_KEY)",
                code="platform_open",
            )
        key = ApiKey(id=f"key_{digest[:16]}", digest=digest, tenant=tenant, created_at=time.time(), hint=hint)
        given = {name: value for name, value in fields.items() if value is not None}
        key = self._with_fields(authority, key, {"scopes": INFERENCE, **given})

        def decide(stored: StoredAccess) -> tuple[Change, None]:
            if tenant not in self._registry.merged(stored.tenants):
                raise no_such_tenant(tenant, "tenant")
            if any(other.digest == digest for other in (*stored.keys, *self._registry.configured.api_keys())):
                raise Conflict(
                    "this key already exists: create another one", code="key_exists", param="digest"
                )
            of_tenant = sum(other.tenant == tenant for other in stored.keys)
            if len(stored.keys) >= MAX_KEYS or of_tenant >= MAX_KEYS_PER_TENANT:
                raise Conflict(
                    f"there are {len(stored.keys)} keys, {of_tenant} of them for the tenant {tenant}; the "
                    f"limits are {MAX_KEYS} and {MAX_KEYS_PER_TENANT}: revoke some",
                    code="too_many_keys",
                )
            return Change("create_key", key.id, _shown(key), keys={digest: key}), None

        self._store.change(authority, decide)
        with suppress(
            StokerError
        ):  # the key was created, and the caller's answer is the only one that has it
            self._store.forget_uses(other.id for other in (*self._registry.identities.api_keys(), key))
        return key

    def set_fields(self, authority: Authority, id: str, fields: Mapping[str, Any]) -> None:
        """Set fields of a key; None: without models, end date or label."""

        def decide(stored: StoredAccess) -> tuple[Change, None]:
            key = self._with_fields(authority, self._own(stored, id), fields)
            return Change("set_key", id, _shown(key), keys={key.digest: key}), None

        self._store.change(authority, decide)

    def revoke(self, authority: Authority, id: str) -> None:
        """Revoke a key: it is forgotten."""

        def decide(stored: StoredAccess) -> tuple[Change, None]:
            key = self._own(stored, id)
            authority.check_governance(key.scopes, "id")
            return Change("revoke_key", id, {"tenant": key.tenant}, keys={key.digest: None}), None

        self._store.change(authority, decide)

    def _own(self, stored: StoredAccess, id: str) -> ApiKey:
        """The key of that id, if a command made it."""
        key = stored.key(id)
        if key is not None:
            return key
        if any(configured.id == id for configured in self._registry.configured.api_keys()):
            raise Conflict(
                f"the configuration defines the key {id}: change it there",
                code="set_by_configuration",
                param="id",
            )
        raise NotFound(f"there is no key {id}", param="id")

    def _with_fields(self, authority: Authority, key: ApiKey, fields: Mapping[str, Any]) -> ApiKey:
        changed: dict[str, Any] = dict(fields)
        if "scopes" in changed:
            changed["scopes"] = frozenset(changed["scopes"] or INFERENCE)
        authority.check_governance(key.scopes | changed.get("scopes", frozenset()))
        if changed.get("models") is not None:
            self._check_models(changed["models"])
            changed["models"] = frozenset(changed["models"])
        if changed.get("expires_at") is not None and changed["expires_at"] <= time.time():
            raise UnprocessableRequest("expires_at must be in the future", param="expires_at")
        if "label" in changed:
            changed["label"] = changed["label"] or ""
        return replace(key, **changed)

    def _check_models(self, models: Collection[str]) -> None:
        for index, model in enumerate(models):
            self._catalogue.definition(model, f"models[{index}]")


def _shown(key: ApiKey) -> dict[str, Any]:
    """The key for the audit record, without what identifies it to the API."""
    return {
        "tenant": key.tenant,
        "scopes": sorted(key.scopes),
        "models": None if key.models is None else sorted(key.models),
        "expires_at": key.expires_at,
    }
