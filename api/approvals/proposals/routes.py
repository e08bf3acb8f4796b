"""/v1/governance/proposals: changes that wait for signatures."""

from __future__ import annotations

from typing import Any

from flask import Response, request

from api.access.caller import current_caller
from api.approvals.lifecycle.attempts import AttemptLimit
from api.approvals.proposals import approval, comparison, creation
from api.approvals.proposals.schema import (
    STATUSES,
    ProposalBody,
    ProposalComparison,
    ProposalList,
    ProposalObject,
    SignatureBody,
)
from api.approvals.proposals.serializer import proposed_response, serialize_proposal
from api.http.error_codes import STORAGE
from api.http.errors import InvalidRequest
from api.http.http_responses import json_response
from api.http.openapi import RouteGroup
from api.http.parameters import integer_parameter, page_size_parameter
from api.http.route_access import Access
from api.services import current_services, service
from governance.proposals.proposal import ProposalStatus
from governance.proposals.store import CURSOR, ProposalStore

routes = RouteGroup("proposals", __name__)

MAX_PAGE = 100
DEFAULT_PAGE = 20

_ID = {"id": "The proposal's id."}
_STATUS = {
    "name": "status",
    "in": "query",
    "description": "Only the proposals in this state.",
    "schema": {"type": "string", "enum": STATUSES},
}
_CURSOR = {
    "name": "cursor",
    "in": "query",
    "description": "The `next_cursor` of the page before.",
    "schema": {"type": "string", "maxLength": 64, "pattern": f"^{CURSOR.pattern}$"},
}
_LIMIT = page_size_parameter("proposals", DEFAULT_PAGE, MAX_PAGE)


@routes.endpoint(
    "/v1/governance/proposals",
    "POST",
    access=Access.GOVERNANCE,
    body=ProposalBody,
    examples={
        "A load": {"operation": "model-load", "body": {"modelId": "stoker-demo"}},
        "A tenant": {"operation": "access-change", "body": {"change": "add_tenant", "name": "research"}},
    },
    responses={202: ProposalObject},
    errors=(
        "governance_not_configured",
        "unknown_model",
        "model_not_allowed",
        "invalid_load_request",
        "not_found",
        "tenant_exists",
        "tenant_name_reserved",
        "too_many_tenants",
        "tenancy_disabled",
        "too_many_keys",
        "set_by_configuration",
        "platform_open",
        "too_many_proposals",
        "rate_limit_exceeded",
        *STORAGE,
    ),
)
def create_proposal(body: dict[str, Any]) -> Response:
    """Propose a change

    It waits for the signatures that the operation's rule asks for. `plan` shows what it would do; the
    signatures cover it, and the proposal is `outdated` if it does not hold any more at the start. The last
    signature that is needed starts the operation.
    """
    services, caller = current_services(), current_caller()
    services[AttemptLimit].count(caller.tenant.name)
    return proposed_response(creation.propose(services, caller, body["operation"], body["body"]))


@routes.endpoint(
    "/v1/governance/proposals",
    access=Access.AUDIT,
    responses={200: ProposalList},
    query=(_STATUS, _CURSOR, _LIMIT),
    errors=STORAGE,
)
def list_proposals() -> Response:
    """List the proposals

    The latest first, a page at a time; those that have ended for 30 days after their end.
    """
    status, cursor = request.args.get("status"), request.args.get("cursor")
    if status is not None and status not in STATUSES:
        raise InvalidRequest(f"status must be one of {', '.join(STATUSES)}", param="status")
    if cursor is not None and not CURSOR.fullmatch(cursor):
        raise InvalidRequest("cursor must be the next_cursor of a page", param="cursor")
    limit = integer_parameter("limit", MAX_PAGE, minimum=1)
    wanted = None if status is None else ProposalStatus(status)
    proposals = service(ProposalStore)
    page = proposals.page(limit or DEFAULT_PAGE, wanted, cursor)
    data = [serialize_proposal(one) for one in page.proposals]
    keys = {"next_cursor": page.cursor, "waiting": proposals.waiting()}
    return json_response({"object": "list", "data": data, **keys})


@routes.endpoint(
    "/v1/governance/proposals/<id>",
    access=Access.AUDIT,
    responses={200: ProposalObject},
    path=_ID,
    errors=("not_found", *STORAGE),
)
def retrieve_proposal(id: str) -> Response:
    """Fetch a proposal

    The same object as in the list.
    """
    return json_response(serialize_proposal(service(ProposalStore).get(id)))


@routes.endpoint(
    "/v1/governance/proposals/<id>/comparison",
    access=Access.AUDIT,
    responses={200: ProposalComparison},
    path=_ID,
    errors=("not_found", *STORAGE),
)
def compare_proposal(id: str) -> Response:
    """Compare a proposal with what runs now

    The plan as it would be made now, what changed since the proposal was made, and the models concerned.
    Nothing is changed. Of a proposal that has ended there is no plan, and `problem` is `proposal_ended`.
    """
    return json_response(comparison.compare(current_services(), id))


@routes.endpoint(
    "/v1/governance/proposals/<id>/signatures",
    "POST",
    access=Access.GOVERNANCE,
    body=SignatureBody,
    examples={
        "A signature": {"signer": "alice", "signature": "ahwSvjxbBVtXg7M2mSWIRuUbIxhxdQ9SGgJ5HFKkGYQ="}
    },
    responses={200: ProposalObject},
    path=_ID,
    errors=(
        "not_found",
        "signature_refused",
        "already_signed",
        "proposal_ended",
        "governance_not_configured",
        "rate_limit_exceeded",
        *STORAGE,
    ),
)
def sign_proposal(body: dict[str, Any], id: str) -> Response:
    """Sign a proposal

    With the last signature that is needed, the operation starts: the answer has the status `started` with
    `operation_id`, or `outdated` with the `reason`. The same request again answers the same.
    """
    return json_response(serialize_proposal(approval.sign(current_services(), current_caller(), id, body)))


@routes.endpoint(
    "/v1/governance/proposals/<id>",
    "DELETE",
    access=Access.GOVERNANCE,
    responses={200: ProposalObject},
    path=_ID,
    errors=("not_found", "proposal_ended", *STORAGE),
)
def withdraw_proposal(id: str) -> Response:
    """Withdraw a proposal

    It is not started any more, whatever signatures it has. 409 `proposal_ended` when it has ended already.
    """
    return json_response(serialize_proposal(approval.withdraw(current_services(), current_caller(), id)))
