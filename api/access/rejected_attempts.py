"""Records the refused attempts of administrators to change something. Accepted ones record themselves.

A caller without the scope has made no attempt: it could fill the audit chain.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

from flask import Response, g, request

from api.access.authority import authority_of
from api.access.caller import current_caller
from api.access.governed_admin import NeedsProposal
from api.http.http_responses import error_response
from api.services import service
from governance.audit import AuditLog
from store.errors import StokerError, StorageFull, StorageUnavailable

logger = logging.getLogger("api")

RECORDED_OR_UNDECIDED = (NeedsProposal, StorageUnavailable, StorageFull)

ACTIONS: Mapping[str, str] = {
    "admin.load_model": "load",
    "admin.unload_model": "unload",
    "admin.cancel_operation": "cancel",
    "additions.add_admin_model": "add",
    "additions.remove_admin_model": "remove",
    "router_adding.download_router_model": "add",
    "router_adding.remove_router_model": "remove",
    "cache.flush_cache": "flush",
    "tenants.add_tenant": "add_tenant",
    "tenants.change_tenant": "set_tenant",
    "tenants.remove_tenant": "remove_tenant",
    "sessions.end_session": "end_session",
    "keys.create_key": "create_key",
    "keys.change_key": "set_key",
    "keys.revoke_key": "revoke_key",
    "queues.cancel_request": "cancel",
    "queues.cancel_tenants_requests": "cancel",
    "workers.drain_worker": "drain",
    "workers.end_drain": "end_drain",
    "alerts.acknowledge_alert": "acknowledge_alert",
    "alerts.end_acknowledgement": "end_acknowledgement",
    "webhooks.test_webhook": "send_test_event",
}
"""The action of the audit record, by endpoint: all that an administrator can change."""


def render_error(error: StokerError) -> Response:
    """Answer with an error of the platform, and record it if an attempt to change something was refused."""
    action = ACTIONS.get(request.endpoint or "")
    # without the store nothing was decided, and nothing can be recorded
    if action is not None and "caller" in g and not isinstance(error, RECORDED_OR_UNDECIDED):
        _record(action, error)
    return error_response(error)


def _record(action: str, error: StokerError) -> None:
    subject = next(iter((request.view_args or {}).values()), "")
    event = authority_of(current_caller()).event(
        action, str(subject), "refused", {"code": error.code, "message": error.message}
    )
    try:
        service(AuditLog).record(event)
    except StokerError:
        logger.exception("the refused attempt to %s %s is missing from the audit chain", action, subject)
