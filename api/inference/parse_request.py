"""Parses and checks a request for a generation, and makes its job. Does no input or output."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from flask import Request

from api.access.caller import Caller
from api.http.errors import InvalidRequest
from api.http.open_streams import OpenStreams
from api.inference import capabilities
from api.inference.dialects.base import Dialect, ParsedRequest
from api.inference.dialects.sealed_summaries import SummarySeal
from api.inference.locality import locality_of
from api.inference.make_job import apply_service_tier, make_job
from api.inference.prompt_text import keeps_texts, prompt_text
from api.services import AppServices
from config.limits import limits_of
from config.settings import Settings
from fleet.catalogue import unknown_model
from fleet.fleet import Fleet
from governance.cache_namespaces import CacheNamespaces
from scheduler.job import Job
from streams.subscriber import EventSubscriber


def parse_request(  # noqa: PLR0913, PLR0917 - all that a request consists of
    services: AppServices,
    caller: Caller,
    dialect: Dialect,
    body: dict[str, Any],
    request: Request,
    created_at: int,
    *,
    in_batch: bool = False,
) -> tuple[ParsedRequest, Job, bool]:
    """The parsed request, its job, and whether it was checked against its model.

    It was not if this process does not know the model: it may have been loaded a moment ago. The job lacks
    the text of documents, and what the request continues; it is that of the first choice. `in_batch`: the
    request is a line of a batch, which has one choice and continues nothing. Raises `StokerError`.
    """
    parsed = dialect.parse(body)
    if in_batch:
        _check_batch_line(parsed)
    if parsed.summaries:
        parsed = SummarySeal(services[CacheNamespaces], caller.tenant.name).opened(parsed)
    if parsed.service_tier is not None:
        caller, parsed = apply_service_tier(caller, parsed, request)
    caller.check_model(parsed.generation.model)
    model = services[Fleet].catalogue.get(parsed.generation.model)
    if model is not None:
        parsed = capabilities.check(model, parsed)
    elif not services[Fleet].catalogue.may_exist(parsed.generation.model):
        raise unknown_model(parsed.generation.model)
    job = make_job(
        dialect,
        parsed,
        caller,
        request,
        created_at=created_at,
        subscriber=services[EventSubscriber].name if parsed.is_streaming_or_waiting else None,
        namespaces=services[CacheNamespaces],
        limits=limits_of(
            caller.tenant, services[Settings], several_tenants=services[OpenStreams].several_tenants
        ),
        locality="off" if model is None else locality_of(model),
        may_grow=model is not None and model.scale_max is not None,
    )
    if keeps_texts(caller, parsed, stores=body.get("store"), in_batch=in_batch):
        job = replace(job, prompt_text=prompt_text(parsed))
    return parsed, job, model is not None


def _check_batch_line(parsed: ParsedRequest) -> None:
    """Raise `InvalidRequest` for a request that no line of a batch can be."""
    if parsed.choices > 1:
        raise InvalidRequest(
            "only one answer is supported here: leave out n, and send one prompt",
            code="unsupported_parameter",
            param="n" if parsed.n > 1 else "prompt",
        )
    if parsed.previous_response_id is not None:
        raise InvalidRequest(
            "a response cannot be continued here: send the whole conversation",
            code="unsupported_parameter",
            param="previous_response_id",
        )
    if parsed.has_references:
        raise InvalidRequest(
            "items cannot be referred to here: send the items themselves",
            code="unsupported_input",
            param="input",
        )
    if parsed.conversation_id is not None:
        raise InvalidRequest(
            "a conversation cannot be continued here: send all of it",
            code="unsupported_parameter",
            param="conversation",
        )
