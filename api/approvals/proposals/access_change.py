"""A proposed change of tenants and API keys: its check, its plan, and its start.

It is checked by the rules of `/v1/admin/tenants` and `/v1/admin/keys`. A new key is made by the proposer,
who alone has it: the proposal has the SHA-256 digest.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from api.access.access_preview import AccessPreview
from api.access.access_records import encode_key, encode_tenant
from api.access.access_store import AccessStore
from api.access.authority import Authority, authority_by_proposal
from api.access.key_changes import KeyChanges
from api.access.registry import AccessRegistry
from api.access.tenant_changes import TenantChanges, tenant_fields
from api.approvals.proposals.access_change_schema import ACCESS_CHANGES
from api.http.errors import InvalidRequest
from api.http.strict_schema import SchemaMismatch
from api.services import AppServices
from config.settings import Settings
from fleet.fleet import Fleet
from fleet.plan import Plan
from governance.authorization import PROPOSAL, Authorization
from governance.proposals.proposal import ACCESS_CHANGE

PLANNED = authority_by_proposal(Authorization("", PROPOSAL))


@dataclass(frozen=True, slots=True)
class AccessChange:
    """Fulfils `ProposedChange`."""

    body: Mapping[str, Any]
    model: str | None = None

    @classmethod
    def parse(cls, body: Mapping[str, Any]) -> AccessChange:
        """The change of a body. Raises `InvalidRequest`, which names the field."""
        name = body.get("change")
        schema = ACCESS_CHANGES.get(name) if isinstance(name, str) else None
        if schema is None:
            raise InvalidRequest(
                f"body.change must be one of {', '.join(ACCESS_CHANGES)}", param="body.change"
            )
        try:
            schema.check(body)
        except SchemaMismatch as error:
            path = error.inside("body").path
            raise InvalidRequest(f"{path} {error.message}", param=path) from None
        return cls(body)

    def plan(self, services: AppServices) -> Plan:
        """What it would change now, and what of that must be the same at the start. Raises `Rejected`."""
        preview = AccessPreview(services[AccessStore])
        self._apply(services, preview, PLANNED)
        planned, stored = preview.planned, preview.stored
        subject = planned.subject if planned else ""
        shown: dict[str, Any] = {
            "operation": ACCESS_CHANGE,
            "change": self.body["change"],
            "subject": subject,
            "detail": dict(planned.detail) if planned else {},
            "begins": True,
            "problem": None,
        }
        covers: dict[str, Any] = {}
        tenant = self.body.get("name")
        if tenant is not None:
            record = stored.tenants.get(tenant)
            covers[f"the tenant {tenant}"] = None if record is None else orjson.loads(encode_tenant(record))
            configured = services[AccessRegistry].configured.by_name(tenant)
            covers[f"the configuration of the tenant {tenant}"] = (
                None if configured is None else sorted(configured.configured)
            )
        if self.body["change"] == "create_key":
            record = stored.tenants.get(self.body["tenant"])
            covers[f"the tenant {self.body['tenant']}"] = None if record is None else record.created_at
        elif self.body["change"] != "set_tenant":
            before = {key.digest: key for key in stored.keys}
            for digest in planned.keys if planned else ():
                key = before.get(digest)
                named = subject if key is None else key.id
                covers[f"the key {named}"] = None if key is None else orjson.loads(encode_key(key))
        return Plan(shown, covers)

    def start(self, services: AppServices, authorization: Authorization, plan: Plan) -> None:  # noqa: ARG002 - see `ProposedChange`
        """Make the change. Raises `NotAuthorized`, other `Rejected`, `StorageUnavailable`."""
        self._apply(services, services[AccessStore], authority_by_proposal(authorization))
        services[AccessRegistry].read_if_possible()

    def _apply(self, services: AppServices, store: AccessStore | AccessPreview, authority: Authority) -> None:
        body, given = self.body, self.body.get("values") or {}
        tenants = TenantChanges(services[Settings], services[AccessRegistry], store)
        keys = KeyChanges(services[Fleet].catalogue, services[AccessRegistry], store)
        match body["change"]:
            case "add_tenant":
                tenants.add(authority, body["name"], tenant_fields(given))
            case "set_tenant":
                tenants.set_fields(authority, body["name"], tenant_fields(given))
            case "remove_tenant":
                tenants.remove(authority, body["name"])
            case "create_key":
                keys.add(authority, body["tenant"], body["digest"], body.get("hint") or "", given)
            case "set_key":
                keys.set_fields(authority, body["id"], given)
            case "revoke_key":
                keys.revoke(authority, body["id"])
