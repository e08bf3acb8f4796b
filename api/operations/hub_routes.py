"""/v1/admin/hub: searches a hub for models, and lists the files to choose from."""

from __future__ import annotations

from typing import Any

from flask import Response, request

from api.http.error_codes import STORAGE
from api.http.errors import InvalidRequest
from api.http.http_responses import json_response
from api.http.openapi import RouteGroup
from api.http.parameters import integer_parameter
from api.http.read_cache import ReadCache
from api.http.route_access import Access
from api.operations.hub_schema import HubFiles, HubModelList
from api.services import current_services
from config.settings import Settings
from fleet.adding.hub_choices import choices_of, read_choices
from fleet.adding.hub_search import MAX_MODELS, MAX_SEARCH, search_hub
from fleet.adding.locate import FoundModel
from fleet.fleet import Fleet

routes = RouteGroup("hub", __name__)

KEPT_S = 60.0
"""How long an answer of the hub is reused."""

MAX_KEPT = 32
MAX_QUERY = 512
"""Characters of a source in a query: each takes up to twelve bytes there, of the 8192 of a target."""

DEFAULT_MODELS = 20
HUB = ("hub_unreachable", "hub_busy", "hub_not_found", "hub_access_denied", "hub_refused")

_SEARCH = {
    "name": "search",
    "in": "query",
    "description": "Words in the names of the models.",
    "schema": {"type": "string", "maxLength": MAX_SEARCH},
}
_LIMIT = {
    "name": "limit",
    "in": "query",
    "description": f"The most models; {DEFAULT_MODELS} unless set.",
    "schema": {"type": "integer", "minimum": 1, "maximum": MAX_MODELS},
}
_SOURCE = {
    "name": "source",
    "in": "query",
    "required": True,
    "description": "`owner/name`, `owner/name@revision`, or the address of the model's page.",
    "schema": {"type": "string", "minLength": 1, "maxLength": MAX_QUERY},
    "example": "Qwen/Qwen3-8B-GGUF",
}


class HubAnswers:
    """The latest answers of the hub, of this process."""

    def __init__(self) -> None:
        self.searches: ReadCache[list[dict[str, Any]]] = ReadCache(KEPT_S, MAX_KEPT, from_end=True)
        self.repositories: ReadCache[FoundModel] = ReadCache(KEPT_S, MAX_KEPT, from_end=True)


@routes.endpoint(
    "/v1/admin/hub/models",
    access=Access.READ,
    responses={200: HubModelList},
    query=(_SEARCH, _LIMIT),
    errors=("model_not_downloaded", *HUB),
)
def search_hub_models() -> Response:
    """Search a hub for models

    The hub that `HF_ENDPOINT` names, huggingface.co unless set. 404 `model_not_downloaded`: the platform asks
    no hub (`hub.offline`). An answer of the hub is reused for a minute.
    """
    services = current_services()
    text = " ".join(request.args.get("search", "").split())
    if len(text) > MAX_SEARCH or not text.isprintable():
        raise InvalidRequest(f"search must have at most {MAX_SEARCH} characters", param="search")
    limit = integer_parameter("limit", MAX_MODELS)
    if limit == 0:
        raise InvalidRequest("limit must be at least 1", param="limit")
    limit = limit or DEFAULT_MODELS
    found = services[HubAnswers].searches.get(
        (text.lower(), limit), lambda: search_hub(services[Settings], text, limit)
    )
    return json_response({"object": "list", "data": found})


@routes.endpoint(
    "/v1/admin/hub/files",
    access=Access.READ,
    responses={200: HubFiles},
    query=(_SOURCE,),
    errors=("invalid_addition", "model_not_downloaded", *HUB, *STORAGE),
)
def list_hub_files() -> Response:
    """List the models in a repository of a hub

    Each with its files and whether it fits into the memory of a worker now. `source` of a choice is what
    `POST /v1/admin/models` takes. The sizes are those of the files; what else a model needs follows from the
    header of one of them. What the hub says is reused for a minute.
    """
    services = current_services()
    fleet, source = services[Fleet], request.args.get("source", "")
    if len(source) > MAX_QUERY:
        raise InvalidRequest(f"source must have at most {MAX_QUERY} characters", param="source")
    found = services[HubAnswers].repositories.get(
        source, lambda: read_choices(source, fleet.workers(), fleet.settings)
    )
    return json_response(
        {
            "repository": found.origin.repository,
            "revision": found.origin.revision,
            "choices": [choice.to_dict() for choice in choices_of(found, fleet)],
        }
    )
