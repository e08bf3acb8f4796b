"""Decides whether a request's opToken authorises its operation.

The answer names the faults that are visible in the request; the audit has every reason.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from api.access.caller import Caller
from api.approvals.lifecycle.model_request import served_name
from api.approvals.lifecycle.requests import TOKEN, LifecycleRequest
from api.http.errors import Forbidden
from api.services import AppServices
from config.settings import Settings
from fleet.errors import NotAuthorized
from fleet.fleet import Fleet
from governance.authorization import OP_TOKEN, Authorization
from governance.op_tokens.key_files import SharedKeyFiles
from governance.op_tokens.refusal import Refused
from governance.op_tokens.verification import Expected, verify

logger = logging.getLogger("governance")


def check_configured(services: AppServices, operation: str | None = None) -> None:
    """Raise `Forbidden` (governance_not_configured) if nobody can approve the operation; None: any."""
    rules = services[Settings].governance.rules
    named = [operation] if operation is not None else ["model-load", "model-unload", "cache-flush"]
    signed = any(rules[name].mode == "signed" for name in named)
    if not signed and services[SharedKeyFiles].current().is_empty:
        raise Forbidden(
            "loads, unloads and flushes through this API need a key for opTokens: set "
            "VERIFIED_OP_TOKEN_KEY_PATH",
            code="governance_not_configured",
        )


def authorize(
    services: AppServices, caller: Caller, request: LifecycleRequest, body: Mapping[str, Any]
) -> Authorization:
    """The authorization by the opToken of a request's `body`. Raises `NotAuthorized`, `StorageUnavailable`.

    Nothing is used up yet: that does the script which begins the operation. A token that was used is refused
    here already, so that its caller gets the same answer whatever the state of the model is.
    """
    governance = services[Settings].governance
    rest = request.body
    expected = Expected(
        request.operation,
        rest.get("modelId"),
        rest.get("scope"),
        rest.get("tenantId"),
        rest.get("tag"),
        body,
        services[Fleet].runner_id(),
    )
    try:
        token = verify(
            body.get(TOKEN),
            expected,
            services[SharedKeyFiles].current(),
            governance.rules[request.operation],
            governance.signers,
            services[Fleet].scripts.now(),
        )
    except Refused as refused:
        raise NotAuthorized(refused.reason, refused.detail, refused.visible) from None
    authorization = Authorization(caller.tenant.name, OP_TOKEN, token.signers, token.nonces)
    services[Fleet].check_unused(authorization)
    return authorization


def check_models(services: AppServices, caller: Caller, body: Mapping[str, Any]) -> None:
    """Raise `Forbidden` (model_not_allowed) if the caller's key is not for a model that the body names."""
    for field in ("modelId", "evictModel"):
        name = body.get(field)
        if name is not None and not caller.may_use(served_name(name, services[Settings])):
            raise Forbidden(
                f"this key does not allow the model {name!r}", code="model_not_allowed", param=field
            )
