"""Makes a proposal: what will be done is checked and planned as if it were done now."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from api.access.authority import authority_to_propose
from api.access.caller import Caller
from api.approvals.lifecycle.authorize import check_models
from api.approvals.proposals.changes import proposed_change
from api.approvals.proposals.model_change import ModelAddition
from api.approvals.proposals.rules import rule_for_proposals
from api.http.errors import InvalidRequest
from api.services import AppServices
from config.settings import Settings
from fleet.fleet import Fleet
from governance.audit import AuditLog
from governance.proposals.payload import NotCanonical, canonical
from governance.proposals.proposal import NewProposal, Proposal
from governance.proposals.signatures import signers_of
from governance.proposals.store import ProposalStore
from store.errors import Rejected, StorageFull, StorageUnavailable

MAX_BODY_BYTES = 16 * 1024
MAX_PLAN_BYTES = 256 * 1024


def propose(services: AppServices, caller: Caller, operation: str, body: Mapping[str, Any]) -> Proposal:
    """Make a proposal of an operation with this body, which is checked like that of its own route.

    Raises `Forbidden` if the operation's rule has no place for proposals, `InvalidRequest` and what the
    operation itself raises for this body, `TooManyProposals`, `StorageUnavailable`.
    """
    try:
        proposal = services[ProposalStore].create(_new(services, caller, operation, body))
    except (StorageUnavailable, StorageFull):
        raise
    except Rejected as error:
        detail = {"code": error.code, "message": error.message}
        event = authority_to_propose(caller).event("propose", operation, "refused", detail)
        services[AuditLog].record(event)
        raise
    services[AuditLog].sync()
    return proposal


def _new(services: AppServices, caller: Caller, operation: str, body: Mapping[str, Any]) -> NewProposal:
    rule = rule_for_proposals(services[Settings], operation)
    change = proposed_change(operation, body)
    if isinstance(change, ModelAddition):
        change = change.complete(services)
    check_models(services, caller, change.body)
    _check_size(change.body)
    plan = change.plan(services)
    document = plan.document()
    if len(orjson.dumps(document)) > MAX_PLAN_BYTES:
        raise InvalidRequest(f"the plan is larger than {MAX_PLAN_BYTES} bytes", param="body")
    return NewProposal(
        operation=operation,
        body=change.body,
        plan=document,
        plan_digest=plan.digest,
        tenant=caller.tenant.name,
        key=caller.key.id,
        by=authority_to_propose(caller).record(),
        threshold=rule.threshold,
        signers=signers_of(rule, services[Settings].governance.signers),
        runner=services[Fleet].runner_id(),
    )


def _check_size(body: Mapping[str, Any]) -> None:
    try:
        size = len(canonical(body))
    except NotCanonical as error:
        raise InvalidRequest(f"the body has no canonical form (RFC 8785): {error}", param="body") from None
    if size > MAX_BODY_BYTES:
        raise InvalidRequest(f"the body is larger than {MAX_BODY_BYTES} bytes", param="body")
