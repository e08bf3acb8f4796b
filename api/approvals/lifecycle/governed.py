"""A governed request from its body to its operation.

The order is: the body's bounds, the limit of attempts, the opToken, the operation. Each attempt that the
limit lets through is in the audit: a begun operation by the script that begins it, a refused one here.
"""

from __future__ import annotations

import logging
from typing import Any

from flask import Request

from api.access.caller import Caller
from api.approvals.lifecycle.attempts import AttemptLimit
from api.approvals.lifecycle.authorize import authorize, check_configured, check_models
from api.approvals.lifecycle.execution import execute
from api.approvals.lifecycle.requests import PROPOSE, LifecycleRequest, parse, read_lifecycle_body
from api.approvals.proposals.creation import propose
from api.services import AppServices
from fleet.errors import NotAuthorized
from fleet.load_request import LoadOutcome
from governance.audit import AuditEvent, AuditLog
from governance.authorization import OP_TOKEN
from governance.proposals.proposal import Proposal
from store.errors import Rejected, StorageUnavailable

logger = logging.getLogger("governance")


def perform(
    services: AppServices, caller: Caller, operation: str, request: Request
) -> tuple[LifecycleRequest, LoadOutcome | Proposal]:
    """Do what an HTTP request asks for, or make a proposal of it; returns the request, too.

    Raises `Rejected`; then nothing was changed, and no nonce used up.
    """
    check_configured(services, operation)
    body = read_lifecycle_body(request)
    lifecycle_request = parse(operation, body)
    services[AttemptLimit].count(caller.tenant.name)
    if body.get(PROPOSE):
        return lifecycle_request, propose(services, caller, operation, lifecycle_request.body)
    return lifecycle_request, by_token(services, caller, lifecycle_request, body)


def by_token(
    services: AppServices, caller: Caller, request: LifecycleRequest, body: dict[str, Any]
) -> LoadOutcome:
    """Do what a request asks for, by the opToken of its body."""
    try:
        authorization = authorize(services, caller, request, body)
        check_models(services, caller, request.body)
        return execute(services, request, authorization)
    except StorageUnavailable:
        raise
    except Rejected as error:
        record_refusal(services, caller, request, error)
        raise


def record_refusal(services: AppServices, caller: Caller, request: LifecycleRequest, error: Rejected) -> None:
    """Record that an attempt was refused, with the precise reason."""
    reason = error.reason if isinstance(error, NotAuthorized) else error.code
    detail = error.detail if isinstance(error, NotAuthorized) else error.message
    subject = request.model or request.body.get("tenantId") or request.body.get("scope", "")
    logger.warning("%s of %r by %s is refused: %s", request.operation, subject, caller.tenant.name, reason)
    details = {"operation": request.operation, "code": error.code, "reason": reason, "message": detail}
    verb = request.operation.rpartition("-")[2]
    event = AuditEvent(caller.tenant.name, OP_TOKEN, verb, subject, "refused", details)
    services[AuditLog].record(event)
