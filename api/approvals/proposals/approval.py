"""Signs and withdraws proposals; the last signature that is needed starts what was proposed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from api.access.caller import Caller
from api.approvals.lifecycle.attempts import AttemptLimit
from api.approvals.proposals.rules import rule_for_proposals
from api.approvals.proposals.start import start
from api.http.errors import Forbidden
from api.services import AppServices
from config.settings import Settings
from governance.audit import AuditEvent, AuditLog
from governance.proposals.errors import ProposalEnded, SignatureRefused
from governance.proposals.proposal import Proposal, ProposalStatus, Signature
from governance.proposals.signatures import verify
from governance.proposals.store import ProposalStore, caller_record


def sign(services: AppServices, caller: Caller, id: str, body: Mapping[str, Any]) -> Proposal:
    """Add a signature to a proposal and, if that was the last one, start what was proposed.

    Returns the proposal as it is then. Raises `UnknownProposal`, `SignatureRefused`, `ProposalEnded`,
    `Forbidden`, `RateLimited`, `StorageUnavailable`.
    """
    services[AttemptLimit].count(caller.tenant.name)
    proposal = services[ProposalStore].get(id)
    by = caller_record(caller.tenant.name, caller.key.id)
    try:
        signed = services[ProposalStore].sign(id, _verified(services, proposal, body), by)
    except (SignatureRefused, ProposalEnded, Forbidden) as error:
        detail = {"signer": body["signer"], "kid": body.get("kid"), "reason": error.message}
        event = AuditEvent(by["actor"], by["authority"], "sign_proposal", id, "refused", detail)
        services[AuditLog].record(event)
        raise
    if signed.status is ProposalStatus.APPROVED:
        signed = start(services, signed)
    services[AuditLog].sync()
    return signed


def withdraw(services: AppServices, caller: Caller, id: str) -> Proposal:
    """Withdraw a proposal. Raises `UnknownProposal`, `ProposalEnded`, `StorageUnavailable`."""
    by = caller_record(caller.tenant.name, caller.key.id)
    withdrawn = services[ProposalStore].withdraw(id, f"withdrawn by {caller.tenant.name}", by)
    services[AuditLog].sync()
    return withdrawn


def _verified(services: AppServices, proposal: Proposal, body: Mapping[str, Any]) -> Signature:
    """The signature of a request. Raises `SignatureRefused`, `Forbidden`, `StorageUnavailable`."""
    return verify(
        proposal,
        body["signer"],
        body.get("kid"),
        body["signature"],
        rule=rule_for_proposals(services[Settings], proposal.operation),
        signers=services[Settings].governance.signers,
        now=services[ProposalStore].scripts.now(),
    )
