"""GET /v1/admin/usage: tokens, GPU time and requests by tenant, model and day."""

from __future__ import annotations

from functools import reduce
from operator import add

from flask import Response, request

from api.access.usage_report import (
    FORMAT,
    MAX_ROWS,
    amounts,
    days,
    days_parameters,
    report,
    rows_as_csv,
    wanted_format,
)
from api.access.usage_schema import UsageReport
from api.http.error_codes import STORAGE
from api.http.errors import InvalidRequest
from api.http.http_responses import json_response
from api.http.openapi import RouteGroup
from api.http.parameters import query_parameter
from api.http.route_access import Access
from api.services import service
from config.tenant_schema import TENANT_NAME
from scheduler.usage import KEPT_DAYS, TooManyRows, Usage, UsageStore

routes = RouteGroup("usage", __name__)

QUERY = (
    *days_parameters(KEPT_DAYS),
    query_parameter("tenant", "Only this tenant.", pattern=f"^{TENANT_NAME}$"),
    query_parameter("model", "Only this model.", maxLength=256),
    FORMAT,
)


@routes.endpoint(
    "/v1/admin/usage",
    access=Access.READ,
    responses={200: UsageReport},
    rows="text/csv",
    query=QUERY,
    errors=STORAGE,
)
def show_usage() -> Response:
    """Report what tenants used

    By day, tenant and model: requests that ended, their tokens and their time in slots. It is kept for 400
    days, and lacks what ended within the last second. As CSV with `format=csv` or `Accept: text/csv`. 400
    when the range has more than 20,000 rows.
    """
    first, last = days(KEPT_DAYS)
    form = wanted_format()
    tenant, model = _name("tenant"), _name("model")
    try:
        rows = service(UsageStore).read(first, last, MAX_ROWS, tenant, model)
    except TooManyRows:
        problem = f"these days have more than {MAX_ROWS} rows: request fewer days, one tenant or one model"
        raise InvalidRequest(problem, param="from") from None
    data = [{"day": row.day, "tenant": row.tenant, "model": row.model, **amounts(row.usage)} for row in rows]
    totals = reduce(add, (row.usage for row in rows), Usage())
    if form == "csv":
        headers, content = rows_as_csv((first, last), ("day", "tenant", "model"), data)
        return Response(content, headers=headers)
    return json_response(report((first, last), data, totals))


def _name(name: str) -> str | None:
    text = request.args.get(name)
    if text is not None and len(text) > 256:
        raise InvalidRequest(f"{name} must have at most 256 characters", param=name)
    return text
