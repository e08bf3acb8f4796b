"""GET /v1/admin/usage: tokens, GPU time and requests by tenant, model and day."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from functools import reduce
from operator import add
from typing import Any

from flask import Response, request

from api.access.usage_schema import UsageReport
from api.http.error_codes import STORAGE
from api.http.errors import InvalidRequest
from api.http.http_responses import json_response
from api.http.openapi import RouteGroup
from api.http.route_access import Access
from api.services import service
from config.tenant_schema import TENANT_NAME
from scheduler.usage import KEPT_DAYS, TooManyRows, Usage, UsageRow, UsageStore

routes = RouteGroup("usage", __name__, description="What tenants used; for administrators.")

DEFAULT_DAYS = 30
MAX_ROWS = 20_000
FORMATS = ("json", "csv")
COLUMNS = (
    *("day", "tenant", "model", "requests", "succeeded", "input_tokens", "cached_tokens", "output_tokens"),
    *("queue_ms", "gpu_ms", "audio_seconds", "images", "pixel_steps"),
)


def _query(name: str, about: str, **schema: Any) -> dict[str, Any]:
    return {"name": name, "in": "query", "description": about, "schema": {"type": "string", **schema}}


QUERY = (
    _query(
        "from", f"The first day (UTC); {DEFAULT_DAYS - 1} days before the last unless set.", format="date"
    ),
    _query(
        "to",
        f"The last day (UTC), at most {KEPT_DAYS - 1} days after the first; today unless set.",
        format="date",
    ),
    _query("tenant", "Only this tenant.", pattern=f"^{TENANT_NAME}$"),
    _query("model", "Only this model.", maxLength=256),
    _query("format", "The format; `json` unless set, or the one that `Accept` names.", enum=list(FORMATS)),
)


@routes.endpoint(
    "/v1/admin/usage",
    access=Access.ADMIN,
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
    first, last = _range()
    form = _format()
    tenant, model = _name("tenant"), _name("model")
    try:
        rows = service(UsageStore).read(first, last, MAX_ROWS, tenant, model)
    except TooManyRows:
        problem = f"these days have more than {MAX_ROWS} rows: request fewer days, one tenant or one model"
        raise InvalidRequest(problem, param="from") from None
    if form == "csv":
        name = f"usage-{first}-{last}.csv"
        headers = {"Content-Disposition": f'attachment; filename="{name}"'}
        return Response(_csv(rows), headers=headers, content_type="text/csv; charset=utf-8")
    totals = reduce(add, (row.usage for row in rows), Usage())
    report = {
        "object": "usage",
        "first_day": first,
        "last_day": last,
        "data": [_values(row) for row in rows],
        "totals": _amounts(totals),
    }
    return json_response(report)


def _values(row: UsageRow) -> dict[str, Any]:
    return {"day": row.day, "tenant": row.tenant, "model": row.model, **_amounts(row.usage)}


def _amounts(usage: Usage) -> dict[str, float]:
    return {
        "requests": usage.requests,
        "succeeded": usage.succeeded,
        "input_tokens": usage.input_tokens,
        "cached_tokens": usage.cached_tokens,
        "output_tokens": usage.output_tokens,
        "queue_ms": usage.queue_us // 1000,
        "gpu_ms": usage.run_us // 1000,
        "audio_seconds": round(usage.audio_ms / 1000, 3),
        "images": usage.images,
        "pixel_steps": usage.pixel_steps,
    }


def _csv(rows: Sequence[UsageRow]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\r\n")
    writer.writeheader()
    writer.writerows(map(_values, rows))
    return text.getvalue()


def _range() -> tuple[date, date]:
    last = _day("to") or datetime.now(UTC).date()
    first = _day("from") or max(date.min + timedelta(DEFAULT_DAYS), last) - timedelta(DEFAULT_DAYS - 1)
    if first > last:
        raise InvalidRequest("from must not be after to", param="from")
    if (last - first).days >= KEPT_DAYS:
        raise InvalidRequest(f"the range must have at most {KEPT_DAYS} days", param="from")
    return first, last


def _day(name: str) -> date | None:
    text = request.args.get(name)
    if text is None:
        return None
    try:
        if len(text) != len("2026-01-31"):
            raise ValueError
        return date.fromisoformat(text)
    except ValueError:
        raise InvalidRequest(f"{name} must be a day such as 2026-01-31", param=name) from None


def _name(name: str) -> str | None:
    text = request.args.get(name)
    if text is not None and len(text) > 256:
        raise InvalidRequest(f"{name} must have at most 256 characters", param=name)
    return text


def _format() -> str:
    given = request.args.get("format")
    if given is None:
        best = request.accept_mimetypes.best_match(["application/json", "text/csv"])
        return "csv" if best == "text/csv" else "json"
    if given not in FORMATS:
        raise InvalidRequest(f"format must be one of {', '.join(FORMATS)}", param="format")
    return given
