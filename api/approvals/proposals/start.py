"""Starts an approved proposal, once over all API processes, if its signatures and its plan still hold.

Any process may try, at any time: the script that begins the operation sets the proposal to `started`, and
refuses every later one (`governance/lua/include/authorize.lua`).
"""

from __future__ import annotations

import logging
from contextlib import suppress

from api.approvals.proposals.changes import proposed_change
from api.approvals.proposals.rules import rule_for_proposals
from api.http.errors import Forbidden
from api.services import AppServices
from config.settings import Settings
from fleet.errors import CoolingDown, HubBusy, NotAuthorized
from fleet.fleet import Fleet
from fleet.plan import Plan, changes_since
from governance.authorization import PROPOSAL, Authorization
from governance.proposals.errors import ProposalEnded
from governance.proposals.proposal import Proposal, ProposalStatus
from governance.proposals.signatures import still_valid
from governance.proposals.store import ProposalStore
from store.errors import Rejected, StorageFull, StorageUnavailable

logger = logging.getLogger("api")

AGAIN = "; propose it again"

WAITS = (StorageUnavailable, StorageFull, CoolingDown, HubBusy)
"""After these errors the proposal waits for its start."""


class _Outdated(Rejected):
    """Raised when a proposal has to be proposed again; the message is the reason."""


def start(services: AppServices, proposal: Proposal) -> Proposal:
    """Start an approved proposal, or mark it as outdated. Returns it as it is then.

    While Redis is unreachable, its model cools down, or the hub is asked for too many others, it stays
    `approved`, and a later call starts it.
    Raises `UnknownProposal`.
    """
    problem = ""
    try:
        try:
            _start(services, proposal)
        except WAITS:
            raise
        except NotAuthorized:
            pass  # another process has started it, or it has ended
        except _Outdated as error:
            problem = error.message
        except Rejected as error:
            problem = f"it cannot be done now ({error.code}): {error.message}"
        if problem:
            with suppress(ProposalEnded):  # another process has started it, or it was withdrawn
                services[ProposalStore].mark_outdated(proposal.id, problem + AGAIN)
        return services[ProposalStore].get(proposal.id)
    except WAITS as error:
        logger.info("the proposal %s is waiting to be started: %s", proposal.id, error.message)
        return proposal


def start_approved(services: AppServices) -> None:
    """Start all approved proposals, and end those whose time is over. Raises `StorageUnavailable`."""
    for id in services[ProposalStore].expire():
        try:
            proposal = services[ProposalStore].get(id)
            if proposal.status is ProposalStatus.APPROVED:
                start(services, proposal)
        except (StorageUnavailable, StorageFull):
            raise
        except Exception:
            logger.exception("the proposal %s cannot be started", id)


def _start(services: AppServices, proposal: Proposal) -> None:
    """Start it. Raises `_Outdated`, `NotAuthorized` if it was started or has ended, and other `Rejected`."""
    signers = _approvers(services, proposal)
    if services[Fleet].runner_id() != proposal.runner:
        raise _Outdated(f"the platform's id changed, it was {proposal.runner}")
    change = proposed_change(proposal.operation, proposal.body)
    plan = change.plan(services)
    if plan.digest != proposal.plan_digest:
        changes = changes_since(Plan.from_document(proposal.plan), plan)
        raise _Outdated(f"the plan no longer holds: {', '.join(changes)}")
    actor, person = proposal.by["actor"], proposal.by.get("person")
    change.start(services, Authorization(actor, PROPOSAL, signers, proposal=proposal.id, person=person), plan)


def _approvers(services: AppServices, proposal: Proposal) -> tuple[str, ...]:
    """Those whose signatures count now. Raises `_Outdated` if they are too few."""
    try:
        rule = rule_for_proposals(services[Settings], proposal.operation)
    except Forbidden as error:
        raise _Outdated(error.message) from None
    signers = still_valid(proposal, rule, services[Settings].governance.signers)
    if len(signers) < rule.threshold:
        gone = [one.signer for one in proposal.signatures if one.signer not in signers]
        reason = f"{len(signers)} of its signatures are valid, but {rule.threshold} are needed"
        raise _Outdated(f"{reason}: {', '.join(gone)} may no longer sign" if gone else reason)
    return signers
