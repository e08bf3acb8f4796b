"""A proposal: a change that waits for signatures, with exactly what will be done; and its form in Redis."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import orjson

from governance.authorization import GOVERNANCE_KEY
from governance.proposals.payload import canonical, digest, signing_payload

ACCESS_CHANGE = "access-change"
OPERATIONS = ("model-load", "model-unload", "cache-flush", "model-add", "model-remove", ACCESS_CHANGE)
"""What can be proposed; each has a rule of its own in the configuration."""

Record = Mapping[str, Any]
"""Who causes a change, as the audit has it: `actor`, `authority`, and `key` or `person` if it has one."""

SIGNATURE_FIELD = "sig "
"""Begins the names of the fields with signatures; the rest is the signer's name."""


class ProposalStatus(StrEnum):
    """The states of a proposal (docs/decisions/0017)."""

    OPEN = "open"
    APPROVED = "approved"
    STARTED = "started"
    WITHDRAWN = "withdrawn"
    EXPIRED = "expired"
    OUTDATED = "outdated"

    @property
    def has_ended(self) -> bool:
        """Whether nothing changes this state any more."""
        return self not in (ProposalStatus.OPEN, ProposalStatus.APPROVED)


@dataclass(frozen=True, slots=True)
class Signature:
    """A verified signature: `key` is the id of the signer's key, `value` base64, `at` Unix seconds."""

    signer: str
    key: str
    value: str
    at: float

    def encode(self) -> bytes:
        """Its form in Redis: JSON, without the signer's name."""
        return orjson.dumps({"key": self.key, "value": self.value, "at": self.at})


@dataclass(frozen=True, slots=True)
class NewProposal:
    """What a proposal is made of. `plan_digest` covers what must still hold at the start.

    `tenant` and `key` are those of the proposer ("": it has none), `by` names it, `threshold` and `signers`
    are those of the operation's rule at this time, `runner` is the platform's id. Raises `NotCanonical` for a
    body without a canonical form.
    """

    operation: str
    body: Mapping[str, Any]
    plan: Mapping[str, Any]
    plan_digest: str
    tenant: str
    key: str
    by: Record
    threshold: int
    signers: tuple[str, ...]
    runner: str

    def fields(self) -> dict[str, bytes | str | int]:
        """The fields of its hash in Redis; `create_proposal` adds those with times."""
        return {
            "body": canonical(self.body),
            "plan": orjson.dumps(self.plan),
            "plan_digest": self.plan_digest,
            "key": self.key,
            "by": orjson.dumps(self.by),
            "threshold": self.threshold,
            "signers": orjson.dumps(self.signers),
            "runner": self.runner,
        }


@dataclass(frozen=True, slots=True)
class Proposal(NewProposal):
    """A proposal. Times are Unix seconds by Redis' clock; from `expires_at` on it cannot be signed or
    started.

    `operation_id` is the operation that it started; `reason` says, in one sentence, why it is expired,
    outdated or withdrawn.
    """

    id: str
    status: ProposalStatus
    created_at: float
    expires_at: int
    approved_at: float | None
    ended_at: float | None
    signatures: tuple[Signature, ...]
    operation_id: str | None
    reason: str | None

    @property
    def body_digest(self) -> str:
        """The SHA-256 of the canonical body, in hex."""
        return digest(self.body)

    @property
    def payload(self) -> bytes:
        """What its signers sign."""
        return signing_payload(
            operation=self.operation,
            proposal=self.id,
            body_digest=self.body_digest,
            plan_digest=self.plan_digest,
            runner=self.runner,
            expires_at=self.expires_at,
        )

    @property
    def missing(self) -> int:
        """How many signatures it still needs."""
        return max(0, self.threshold - len(self.signatures))

    def signature_of(self, signer: str) -> Signature | None:
        """The signature of that signer, or None."""
        return next((one for one in self.signatures if one.signer == signer), None)


def new_proposal_id() -> str:
    """Return a new id."""
    return f"proposal_{secrets.token_hex(12)}"


def parse_proposal(id: str, row: Mapping[bytes, bytes]) -> Proposal:
    """Parse the Redis hash of a proposal."""
    text = {key.decode(): value for key, value in row.items()}
    signatures = [
        Signature(signer=name.removeprefix(SIGNATURE_FIELD), **orjson.loads(value))
        for name, value in text.items()
        if name.startswith(SIGNATURE_FIELD)
    ]
    return Proposal(
        operation=text["operation"].decode(),
        body=orjson.loads(text["body"]),
        plan=orjson.loads(text["plan"]),
        plan_digest=text["plan_digest"].decode(),
        tenant=text["tenant"].decode(),
        key=text["key"].decode(),
        by=_proposer(text),
        threshold=int(text["threshold"]),
        signers=tuple(orjson.loads(text["signers"])),
        runner=text["runner"].decode(),
        id=id,
        status=ProposalStatus(text["status"].decode()),
        created_at=int(text["created_us"]) / 1e6,
        expires_at=int(text["expires_us"]) // 1_000_000,
        approved_at=_seconds(text.get("approved_us")),
        ended_at=_seconds(text.get("ended_us")),
        signatures=tuple(sorted(signatures, key=lambda one: (one.at, one.signer))),
        operation_id=text["operation_id"].decode() or None,
        reason=text["reason"].decode() or None,
    )


def _proposer(text: Mapping[str, bytes]) -> Record:
    if "by" in text:
        by: Record = orjson.loads(text["by"])
        return by
    return {"actor": text["tenant"].decode(), "authority": GOVERNANCE_KEY}  # an earlier version has stored it


def _seconds(us: bytes | None) -> float | None:
    return None if us is None else int(us) / 1e6
