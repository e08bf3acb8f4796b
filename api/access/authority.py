"""By which authority tenants and keys are changed: by an administrator's key, or by a proposal."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from api.access.caller import Caller
from api.access.person import Person
from api.http.errors import Forbidden
from api.http.route_access import Access
from config.api_keys import ALL_SCOPES
from governance.audit import AuditEvent
from governance.authorization import (
    ADMIN_KEY,
    GOVERNANCE_KEY,
    NO_KEY,
    PERSON,
    TENANT_KEY,
    Authorization,
)

GOVERNANCE = "governance"


@dataclass(frozen=True, slots=True)
class Authority:
    """The authority of a change. `scopes` are those that it may give to a key.

    `key` is the id of the administrator's key, "" without one.
    """

    authorization: Authorization
    scopes: frozenset[str]
    key: str = ""

    def check_governance(self, scopes: Collection[str], param: str = "scopes") -> None:
        """Check a change of a key with these scopes.

        An administrator makes neither itself a signer, nor others helpless: a key for governance is made,
        changed and revoked with such a key only. Raises `Forbidden` (governance_required).
        """
        if GOVERNANCE in scopes and GOVERNANCE not in self.scopes:
            raise Forbidden(
                "only a key with the scope `governance` may create, change or revoke a key with that scope",
                code="governance_required",
                param=param,
            )

    def record(self) -> dict[str, Any]:
        """Whose change it is, as the audit records have it."""
        return self.authorization.record() | ({"key": self.key} if self.key else {})

    def event(self, action: str, subject: str, outcome: str, detail: Mapping[str, Any]) -> AuditEvent:
        """The audit event of a change or an attempt."""
        key = {"key": self.key} if self.key else {}
        actor, authority = self.authorization.actor, self.authorization.authority
        person = {"person": self.authorization.person} if self.authorization.person else {}
        return AuditEvent(actor, authority, action, subject, outcome, {**detail, **key, **person})


def authority_of(caller: Caller) -> Authority:
    """An administrator or an operator, by a key or as a person."""
    return Authority(authorization_of_caller(caller), caller.key.scopes, caller.key.id)


def authority_of_person(person: Person) -> Authority:
    """A person at the sign-in, or at the end of the own session."""
    authorization = Authorization(person.actor, PERSON, person=person.record(person.tenant))
    return Authority(authorization, person.scopes)


def authorization_of_caller(caller: Caller) -> Authorization:
    """The authority of what the caller begins. A person is the actor, its tenant is in the detail."""
    if caller.person is not None:
        return Authorization(caller.person.actor, PERSON, person=caller.person.record(caller.tenant.name))
    is_operator = Access.OPERATE.admits(caller.key.scopes)
    return Authorization(caller.tenant.name, ADMIN_KEY if is_operator else TENANT_KEY)


def authority_to_propose(caller: Caller) -> Authority:
    """That of a caller that makes, signs or withdraws a proposal. It changes nothing by itself."""
    key = caller.key.id
    by_key = Authorization(caller.tenant.name, GOVERNANCE_KEY if key else NO_KEY)
    authorization = by_key if caller.person is None else authorization_of_caller(caller)
    return Authority(authorization, caller.key.scopes, key)


def authority_by_proposal(authorization: Authorization) -> Authority:
    """The signers of a proposal, who may give every scope."""
    return Authority(authorization, ALL_SCOPES)
