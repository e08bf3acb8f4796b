"""Signs and withdraws proposals; the last signature that is needed starts what was proposed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from api.access.authority import authority_to_propose
from api.access.caller import Caller
from api.approvals.lifecycle.attempts import AttemptLimit
from api.approvals.proposals.rules import rule_for_proposals
from api.approvals.proposals.start import start
from api.http.errors import Forbidden
from api.services import AppServices
from config.settings import Settings
from governance.audit import AuditLog
from governance.proposals.errors import ProposalEnded, SignatureRefused
from governance.proposals.proposal import Proposal, ProposalStatus, Signature
from governance.proposals.signatures import verify
from governance.proposals.store import ProposalStore


def sign(services: AppServices, caller: Caller, id: str, body: Mapping[str, Any]) -> Proposal:
    """Add a signature to a proposal and, if that was the last one, start what was proposed.

    Returns the proposal as it is then. Raises `UnknownProposal`, `SignatureRefused`, `ProposalEnded`,
    `Forbidden`, `RateLimited`, `StorageUnavailable`.
    """
    services[AttemptLimit].count(caller.tenant.name)
    proposal = services[ProposalStore].get(id)
    authority = authority_to_propose(caller)
    try:
        signature = _verified(services, proposal, body)
        signed = services[ProposalStore].sign(id, signature, authority.record())
    except (SignatureRefused, ProposalEnded, Forbidden) as error:
        detail = {"signer": body["signer"], "kid": body.get("kid"), "reason": error.message}
        services[AuditLog].record(authority.event("sign_proposal", id, "refused", detail))
        raise
    if signed.status is ProposalStatus.APPROVED:
        signed = start(services, signed)
    services[AuditLog].sync()
    return signed


def withdraw(services: AppServices, caller: Caller, id: str) -> Proposal:
    """Withdraw a proposal. Raises `UnknownProposal`, `ProposalEnded`, `StorageUnavailable`."""
    by = authority_to_propose(caller).record()
    withdrawn = services[ProposalStore].withdraw(id, f"withdrawn by {by['actor']}", by)
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
