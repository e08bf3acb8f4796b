"""GET /v1/admin/metrics/recent: samples of the last hour or week, for charts."""

from __future__ import annotations

from flask import Response, request

from api.http.error_codes import STORAGE
from api.http.errors import InvalidRequest
from api.http.http_responses import json_response
from api.http.openapi import RouteGroup
from api.http.parameters import integer_parameter, query_parameter
from api.http.route_access import Access
from api.operations.metrics.parts import Kind
from api.operations.metrics.recent_schema import RecentMetricsBody
from api.operations.metrics.sample_store import LONGEST_SPAN_S, PAST, RECENT, MetricSamples
from api.services import service

routes = RouteGroup("recent_metrics", __name__)

_LIMIT = {
    "name": "limit",
    "in": "query",
    "description": "The most samples, the latest ones; all unless set.",
    "schema": {"type": "integer", "minimum": 0, "maximum": PAST.kept},
}
_SPAN = {
    "name": "span_s",
    "in": "query",
    "description": "Samples of this time until now, in seconds: up to an hour one each 10 seconds, up to 7 "
    "days one each 10 minutes.",
    "schema": {"type": "integer", "minimum": 0, "maximum": LONGEST_SPAN_S, "default": RECENT.span_s},
}
_AFTER = {
    "name": "after",
    "in": "query",
    "description": "Only samples later than this time in unix seconds.",
    "schema": {"type": "integer", "minimum": 0, "maximum": 2**32},
}
_OF = (
    query_parameter("model", "What holds and grew of this model alone."),
    query_parameter("tenant", "What holds and grew of this tenant alone."),
)


@routes.endpoint(
    "/v1/admin/metrics/recent",
    access=Access.READ,
    responses={200: RecentMetricsBody},
    query=(_SPAN, _LIMIT, _AFTER, *_OF),
    errors=STORAGE,
)
def list_recent_metrics() -> Response:
    """List samples of the last hour or week

    One each 10 seconds of the last hour, or each 10 minutes of the last 7 days: rates of tokens and
    requests, waits, times to the first token, refusals, errors by code, cache hits, and the requests,
    memory and load of the GPUs at that time. With `model` or `tenant` they are those of one alone. A
    sample is missing while no API process ran or Redis was away. For longer times scrape
    `/metrics`.
    """
    span_s, limit = integer_parameter("span_s", LONGEST_SPAN_S), integer_parameter("limit", PAST.kept)
    after = integer_parameter("after", 2**32)
    found = service(MetricSamples).read(RECENT.span_s if span_s is None else span_s, after or 0, _part())
    kept = len(found.samples) if limit is None else limit
    return json_response(
        {
            "now": found.now,
            "interval_s": found.interval_s,
            "samples": found.samples[max(0, len(found.samples) - kept) :],
            "models": found.models,
        }
    )


def _part() -> tuple[Kind, str] | None:
    """The model or tenant that the query names. Raises `InvalidRequest` if it names both."""
    model, tenant = request.args.get("model"), request.args.get("tenant")
    if model and tenant:
        raise InvalidRequest("model and tenant exclude each other: name one of them", param="tenant")
    if model:
        return "model", model
    return ("tenant", tenant) if tenant else None
