"""GET /v1/admin/metrics/recent: samples of the last hour, for charts."""

from __future__ import annotations

from dataclasses import replace

from flask import Response

from api.http.error_codes import STORAGE
from api.http.http_responses import json_response
from api.http.openapi import RouteGroup
from api.http.parameters import integer_parameter
from api.http.route_access import Access
from api.operations.metrics.recent_schema import RecentMetricsBody
from api.operations.metrics.sample import INTERVAL_S
from api.operations.metrics.sample_store import MAX_SAMPLES, MetricSamples
from api.services import service

routes = RouteGroup("recent_metrics", __name__, description="Samples of the last hour; for administrators.")

_LIMIT = {
    "name": "limit",
    "in": "query",
    "description": f"The most samples, the latest ones; {MAX_SAMPLES} unless set.",
    "schema": {"type": "integer", "minimum": 0, "maximum": MAX_SAMPLES},
}
_AFTER = {
    "name": "after",
    "in": "query",
    "description": "Only samples later than this time in unix seconds.",
    "schema": {"type": "integer", "minimum": 0, "maximum": 2**32},
}


@routes.endpoint(
    "/v1/admin/metrics/recent",
    access=Access.ADMIN,
    responses={200: RecentMetricsBody},
    query=(_LIMIT, _AFTER),
    errors=STORAGE,
)
def list_recent_metrics() -> Response:
    """List samples of the last hour

    One each 10 seconds: rates of tokens and requests, waits, refusals, cache hits, and the requests and
    memory at that time. A sample is missing while no API process ran or Redis was away. For longer times,
    and for alerts, scrape `/metrics`.
    """
    limit, after = integer_parameter("limit", MAX_SAMPLES), integer_parameter("after", 2**32)
    found = service(MetricSamples).read(after or 0)
    kept = MAX_SAMPLES if limit is None else limit
    found = replace(found, samples=found.samples[max(0, len(found.samples) - kept) :])
    return json_response(
        {"now": found.now, "interval_s": INTERVAL_S, "samples": found.samples, "models": found.models}
    )
