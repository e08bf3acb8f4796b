"""How a change was authorised, and what of it can be used only once.

A load, an unload and a flush are given an `Authorization`. The script that begins the operation checks it
before anything is changed, and uses it up in the same call (`governance/lua/include/authorize.lua`), so that
neither a crash nor a repeated call separates the two.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import orjson

NONCE_TTL_MS = 900_000
"""How long a used nonce is remembered. An opToken may be dated 300 s ahead and is accepted until 300 s after
its date, which is 600 s; the rest is for clocks that differ."""

ADMIN_KEY, OP_TOKEN, PROPOSAL, BY_PLATFORM = "admin key", "op token", "proposal", "platform"
TENANT_KEY = "tenant key"
"""That of a tenant that may load models."""

GOVERNANCE_KEY, NO_KEY = "governance key", "no key"
"""Those of a tenant that proposes, signs or withdraws; without a key a trusted proxy named it."""

PERSON = "person"
"""That of a person with a role, who signed in by OpenID Connect."""

AUTHORITIES = (ADMIN_KEY, TENANT_KEY, PERSON, OP_TOKEN, PROPOSAL, BY_PLATFORM)


@dataclass(frozen=True, slots=True)
class Authorization:
    """The authority of a change.

    `actor` is the tenant or the person that asks for it, `authority` one of AUTHORITIES, `signers` those who
    signed it, `requested_by` the tenant for whose requests the platform does it,
    `person` who a person is (its subject and issuer, name, roles and tenant).
    `nonces` are the digests of an opToken's nonces (`op_nonce:<digest>`), `proposal` the id of an approved
    proposal: both authorise one operation only.
    """

    actor: str
    authority: str
    signers: tuple[str, ...] = ()
    nonces: tuple[str, ...] = ()
    proposal: str | None = None
    requested_by: str | None = None
    person: Mapping[str, Any] | None = None

    @property
    def is_single_use(self) -> bool:
        """Whether an operation uses something of it up."""
        return bool(self.nonces) or self.proposal is not None

    def record(self) -> dict[str, Any]:
        """The authority as the operation and the audit records have it."""
        fields = {
            "signers": list(self.signers),
            "nonces": list(self.nonces),
            "proposal": self.proposal,
            "requested_by": self.requested_by,
            "person": self.person,
        }
        return {"actor": self.actor, "authority": self.authority} | {k: v for k, v in fields.items() if v}

    def argument(self, definition: str | None = None) -> bytes:
        """The authorization as an argument of a script, for `authorize.lua`: JSON.

        `definition` is the digest of the definition that a load uses, for its operation and audit record.
        """
        argument: dict[str, Any] = {"audit": self.record(), "nonce_ttl_ms": NONCE_TTL_MS}
        if definition is not None:
            argument["definition"] = definition
        if self.nonces:
            argument["nonces"] = list(self.nonces)
        if self.proposal is not None:
            argument["proposal"] = self.proposal
        return orjson.dumps(argument)

    def asked_by(self, tenant: str) -> Authorization:
        """The same authority, for what is done for the waiting requests of a tenant."""
        return replace(self, requested_by=tenant)

    def for_consequence(self) -> Authorization:
        """The authorization of what follows from the operation that used this one up: an eviction."""
        return replace(self, nonces=(), proposal=None)


PLATFORM = Authorization("platform", BY_PLATFORM)
"""For what the platform does by itself: initial loads, restarts, recovery."""


def authorization_of(record: Mapping[str, Any] | None) -> Authorization:
    """The authorization for what follows from an operation with this record; `PLATFORM` without one."""
    if record is None:
        return PLATFORM
    signers = tuple(record.get("signers", ()))
    return Authorization(record["actor"], record["authority"], signers, person=record.get("person"))
