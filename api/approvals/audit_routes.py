"""/v1/governance/audit: the audit chain, and its signed head."""

from __future__ import annotations

import logging

import orjson
from flask import Response, request

from api.access.caller import current_caller
from api.approvals.audit_export import MAX_EXPORTED, AuditExport
from api.approvals.audit_schema import AuditHead, AuditPage
from api.http.detached import DetachedResponse
from api.http.error_codes import STORAGE
from api.http.errors import ApiError, InvalidRequest
from api.http.http_responses import json_response
from api.http.open_streams import OpenStreams
from api.http.openapi import RouteGroup
from api.http.parameters import (
    MAX_PAGE,
    TIME_FORMS,
    choice_parameter,
    chosen,
    integer_parameter,
    query_parameter,
    time_parameter,
)
from api.http.route_access import Access
from api.services import current_services
from config.limits import limits_of
from config.settings import Settings
from fleet.fleet import Fleet
from governance.audit import AuditLog
from governance.audit.record import GENESIS
from governance.audit.selection import Filters, Selection
from governance.audit.signed_head import sign_head
from governance.op_tokens.private_files import KeyFileError
from governance.platform_key import PlatformKey

logger = logging.getLogger("api")

routes = RouteGroup("audit", __name__)

MAX_READ = 5000
"""Records that are looked at for one page."""

NDJSON = "application/x-ndjson"
FORMATS = ("json", "ndjson")
ORDERS = ("oldest", "newest")
TEXTS = ("actor", "authority", "action", "subject", "outcome")


QUERY = (
    {
        "name": "limit",
        "in": "query",
        "description": "The most records; 100 unless set, at most 1,000. As NDJSON 10,000, the most.",
        "schema": {"type": "integer", "minimum": 0, "maximum": MAX_EXPORTED},
    },
    query_parameter("after", "`next_after` of the page before; a record's number.", "integer"),
    *(query_parameter(name, f"Only records with this {name}.") for name in TEXTS),
    query_parameter("since", f"Only records from this time on. {TIME_FORMS}"),
    query_parameter("until", f"Only records before this time. {TIME_FORMS}"),
    choice_parameter("order", "`oldest` record first, the default, or `newest`.", ORDERS),
    choice_parameter("format", "The format; `json` unless set, or the one that `Accept` names.", FORMATS),
)


@routes.endpoint(
    "/v1/governance/audit",
    access=Access.AUDIT,
    responses={200: AuditPage},
    rows=NDJSON,
    query=QUERY,
    errors=STORAGE,
)
def list_audit_records() -> Response:
    """Read the audit chain

    Each attempt to change something, with its outcome. A page may have fewer records than `limit`, or none,
    and `has_more`: about 5,000 records are looked at for one. With `format=ndjson` or
    `Accept: application/x-ndjson` a record per line, exactly as its digest was computed, up to 10,000.
    """
    services = current_services()
    form = _format()
    limit = integer_parameter("limit", MAX_EXPORTED if form == "ndjson" else MAX_PAGE)
    after = integer_parameter("after")
    texts = {name: _text(name) for name in TEXTS}
    newest_first = chosen("order", ORDERS) == "newest"
    filters = Filters(**texts, since=time_parameter("since"), until=time_parameter("until"))
    selection = Selection(services[AuditLog].store, filters, newest_first=newest_first)
    if form == "ndjson":
        export = AuditExport(selection, after, MAX_EXPORTED if limit is None else limit)
        tenant, streams = current_caller().tenant, services[OpenStreams]
        limits = limits_of(tenant, services[Settings])
        return DetachedResponse(lambda connection: export.serve(streams, tenant.name, limits, connection))
    page = selection.page(after, 100 if limit is None else limit, MAX_READ)
    data = [orjson.Fragment(record.line) for record in page.records]
    more = page.cursor is not None
    damaged = [entry.number for entry in page.damaged]
    keys = {"damaged": damaged, "has_more": more, "next_after": page.cursor}
    return json_response({"object": "list", "data": data, **keys})


@routes.endpoint(
    "/v1/governance/audit/head",
    access=Access.AUDIT,
    responses={200: AuditHead},
    errors=("key_unusable", *STORAGE),
)
def show_audit_head() -> Response:
    """Fetch the signed head of the audit chain

    The number and digest of the last record, signed by the Ed25519 key of the host that answers. Keep it
    elsewhere: `stoker audit verify --head FILE` finds later whether the chain was shortened.
    """
    services = current_services()
    services[AuditLog].sync()
    end = services[AuditLog].store.end()
    number, digest = (end.number, end.digest) if end else (0, GENESIS)
    try:
        at, runner = services[AuditLog].store.now(), services[Fleet].runner_id()
        head = sign_head(services[PlatformKey], number, digest, at, runner)
    except KeyFileError as error:
        logger.exception("heads of the audit chain cannot be signed")
        message = "the key that signs heads cannot be used; the reason is in the API's log"
        raise ApiError(message, code="key_unusable") from error
    return json_response(head)


def _text(name: str) -> str | None:
    text = request.args.get(name)
    if text is not None and len(text) > 256:
        raise InvalidRequest(f"{name} must have at most 256 characters", param=name)
    return text


def _format() -> str:
    best = request.accept_mimetypes.best_match(["application/json", NDJSON])
    return chosen("format", FORMATS) or ("ndjson" if best == NDJSON else "json")
