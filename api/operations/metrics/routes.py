"""GET /metrics."""

from __future__ import annotations

from flask import Response, request

from api.http.openapi import RouteGroup
from api.http.route_access import Access
from api.operations.metrics.exposition import Exposition
from api.services import service

routes = RouteGroup("metrics", __name__, description="Measurements, for Prometheus.")


@routes.endpoint(
    "/metrics", access=Access.METRICS, responses={}, text="The metrics in Prometheus' text format."
)
def show_metrics() -> Response:
    """Measure the platform

    In Prometheus' text format, or OpenMetrics if the request accepts it. The numbers are those of the whole
    platform, whichever API process answers, except `process_` and `python_`. While Redis cannot be read,
    `stoker_up` is 0.
    """
    return metrics_response()


def metrics_response() -> Response:
    """The metrics, for a request to either port."""
    exposition = service(Exposition)
    body, content_type = exposition.render(request.headers.get("Accept", ""))
    return Response(body, content_type=content_type)
