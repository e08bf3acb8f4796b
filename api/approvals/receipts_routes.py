"""GET /v1/governance/receipts/{id}: the receipt of a response."""

from __future__ import annotations

import logging

from flask import Response

from api.access.caller import current_caller
from api.approvals.receipts_schema import Receipt
from api.http.error_codes import STORAGE
from api.http.errors import ApiError, NotFound
from api.http.http_responses import json_response
from api.http.openapi import RouteGroup
from api.http.route_access import Access
from api.services import current_services
from fleet.fleet import Fleet
from governance.op_tokens.private_files import KeyFileError
from governance.platform_key import PlatformKey
from governance.receipts import PREFIX, Receipts

logger = logging.getLogger("api")

routes = RouteGroup("receipts", __name__)


@routes.endpoint(
    "/v1/governance/receipts/<id>",
    access=Access.INFERENCE,
    responses={200: Receipt},
    path={"id": "The response's id."},
    errors=("not_found", "key_unusable", *STORAGE),
)
def retrieve_receipt(id: str) -> Response:
    """Fetch the receipt of a response

    For tenants with `receipts`, as long as the response is kept: a minute after its end if it is not stored.
    The digests of the request's body and of the answer, the model's definition, who loaded it and who
    approved that; signed by the platform.
    """
    services = current_services()
    receipt = services[Receipts].read(id, current_caller().tenant.name)
    if receipt is None:
        raise NotFound(f"there is no receipt for the response {id}", param="id")
    try:
        signed = services[PlatformKey].signed(PREFIX, receipt | {"runner": services[Fleet].runner_id()})
    except KeyFileError as error:
        logger.exception("receipts cannot be signed")
        message = "the key that signs receipts cannot be used; the reason is in the API's log"
        raise ApiError(message, code="key_unusable") from error
    return json_response(signed)
