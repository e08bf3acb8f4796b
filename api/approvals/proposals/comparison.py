"""Compares a proposal that waits with what runs now, for the people who decide about it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

from api.approvals.lifecycle import execution
from api.approvals.lifecycle.execution import Resolved
from api.approvals.lifecycle.model_request import may_ask_hub
from api.approvals.lifecycle.requests import LifecycleRequest
from api.approvals.proposals.changes import LifecycleChange, proposed_change
from api.approvals.proposals.model_change import ModelAddition
from api.http.read_cache import ReadCache
from api.services import AppServices
from config.settings import Settings
from fleet.errors import HubBusy
from fleet.fleet import Fleet
from fleet.plan import Plan, changes_since, model_now
from governance.proposals.errors import ProposalEnded
from governance.proposals.proposal import Proposal
from governance.proposals.store import ProposalStore
from store.errors import Rejected, StorageFull, StorageUnavailable, UnknownModel

Answer = TypeVar("Answer")

HUB_MAX_AGE_S = 60.0
"""How old an answer of a hub about a model may be where a proposal is compared with the present."""

MAX_COMPARED_LOADS = 100
"""The number of proposals whose answers are kept."""


class ComparedLoads(ReadCache[Any]):
    """The answers of hubs about the models of proposals, by the id of the proposal."""

    def __init__(self) -> None:
        super().__init__(HUB_MAX_AGE_S, MAX_COMPARED_LOADS)


def compare(services: AppServices, id: str) -> dict[str, Any]:
    """The plan of a proposal as it would be made now, what changed since, and the models concerned as they
    run.

    Changes nothing. What a hub says of a model is up to a minute old, since pages ask again every few
    seconds; all else is of now. A proposal that has ended has no plan: its `problem` has the code
    `proposal_ended`.
    Raises `UnknownProposal`, `StorageUnavailable`.
    """
    proposal = services[ProposalStore].get(id)
    plan, problem = _plan_now(services, proposal)
    changes = [] if plan is None else changes_since(Plan.from_document(proposal.plan), plan)
    return {
        "object": "proposal_comparison",
        "id": id,
        "holds": problem is None and not changes,
        "changes": changes,
        "problem": problem,
        "plan": None if plan is None else plan.document(),
        "models": _models_now(services, proposal),
    }


def _plan_now(services: AppServices, proposal: Proposal) -> tuple[Plan | None, dict[str, str] | None]:
    """The plan, or why none can be made."""
    if proposal.status.has_ended:
        message = f"the proposal {proposal.id} is {proposal.status}: there is nothing to compare"
        return None, {"code": ProposalEnded.default_code, "message": message}
    try:
        change = proposed_change(proposal.operation, proposal.body)
        if isinstance(change, ModelAddition):
            return _compared(services, change, proposal.id), None
        if not isinstance(change, LifecycleChange):
            return change.plan(services), None
        return execution.plan(services, change.request, partial(_resolve, id=proposal.id)), None
    except (StorageUnavailable, StorageFull):
        raise
    except Rejected as error:
        return None, {"code": error.code, "message": error.message}


def _resolve(services: AppServices, request: LifecycleRequest, *, id: str) -> Resolved:
    """Resolve the request's model; a hub is asked at most once a minute per proposal."""
    if not may_ask_hub(request.body["modelId"], services[Settings]):
        return execution.resolve(services, request)
    found: Resolved | Rejected = services[ComparedLoads].get(
        id, lambda: _asked(lambda: execution.resolve(services, request))
    )
    if isinstance(found, Rejected):
        raise found.with_traceback(None)  # it is raised again and again
    return found


def _compared(services: AppServices, change: ModelAddition, id: str) -> Plan:
    """The plan of an addition; a hub is asked at most once a minute per proposal."""
    found: Plan | Rejected = services[ComparedLoads].get(id, lambda: _asked(lambda: change.plan(services)))
    if isinstance(found, Rejected):
        raise found.with_traceback(None)
    return found


def _asked(ask: Callable[[], Answer]) -> Answer | Rejected:
    """What a hub says of a model, or why nothing. Raises what says nothing about the next minute."""
    try:
        return ask()
    except (StorageUnavailable, StorageFull, HubBusy):
        raise
    except Rejected as error:
        return error


def _models_now(services: AppServices, proposal: Proposal) -> list[dict[str, Any]]:
    """The model of the proposal, and the one that it evicts; none of those that are not configured now."""
    evicted = proposal.plan.get("evicts") or {}
    found = []
    for name in (proposal.plan.get("modelId"), evicted.get("modelId")):
        try:
            if name is not None:
                found.append(model_now(services[Fleet].row(name)))
        except UnknownModel:
            continue  # a dynamic model before its load
    return found
