"""GET /metrics."""

from __future__ import annotations

from flask import Response, request

from api.access.caller import current_caller
from api.http.error_codes import STORAGE
from api.http.openapi import RouteGroup
from api.http.parameters import query_parameter
from api.http.route_access import Access
from api.operations.metrics.exposition import Exposition
from api.operations.metrics.model_metrics import CONTENT_TYPE, model_metrics
from api.services import service

routes = RouteGroup("metrics", __name__)


@routes.endpoint(
    "/metrics",
    access=Access.METRICS,
    responses={},
    text="The metrics in Prometheus' text format.",
    query=(query_parameter("model", "A model: its measurements alone, under llama-server's names."),),
    errors=("unknown_model", "model_not_allowed", *STORAGE),
)
def show_metrics() -> Response:
    """Measure the platform

    In Prometheus' text format, or OpenMetrics if the request accepts it. The numbers are those of the whole
    platform, whichever API process answers, except `process_` and `python_`. While Redis cannot be read,
    `stoker_up` is 0. With `model` it is llama-server's route: the tokens and requests of that model.
    """
    if model := request.args.get("model"):
        current_caller().check_model(model)
    return metrics_response()


def metrics_response() -> Response:
    """The metrics, for a request to either port."""
    exposition = service(Exposition)
    if model := request.args.get("model"):
        return Response(model_metrics(exposition.state(), model), content_type=CONTENT_TYPE)
    body, content_type = exposition.render(request.headers.get("Accept", ""))
    return Response(body, content_type=content_type)
