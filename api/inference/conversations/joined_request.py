"""Checks a request that got an earlier conversation."""

from __future__ import annotations

from dataclasses import replace

from api.http.errors import ApiError
from api.inference import capabilities
from api.inference.dialects.base import ParsedRequest
from api.inference.dialects.chat_messages import add_begun_answer
from api.inference.make_job import replace_generation
from api.services import AppServices
from config.settings import Settings
from fleet.catalogue import unknown_model
from fleet.fleet import Fleet
from generation.truncation import DroppableParts
from scheduler.job import Job


def check_joined(
    services: AppServices, parsed: ParsedRequest, job: Job, name: str, param: str
) -> tuple[ParsedRequest, Job]:
    """The request as the model takes it, and its job, with the joined conversation.

    `name` is what messages call the conversation. Raises `ApiError`: request_too_large for more bytes than a
    body may have, unless it may be truncated to that; and what `capabilities.check` raises.
    """
    model = services[Fleet].catalogue.get(parsed.generation.model)
    if model is None:
        raise unknown_model(parsed.generation.model)
    parsed = capabilities.check(model, add_begun_answer(parsed))
    job = replace_generation(job, parsed)
    if len(job.generation) > (most := services[Settings].api.max_body_bytes):
        parsed, job = _shortened(parsed, job, most)
    if len(job.generation) > most:
        advice = "" if parsed.generation.truncate else ', or send truncation: "auto"'
        raise ApiError(
            f"{name} would have {len(job.generation)} bytes with the new input, more than {most} "
            f"(api.max_body_bytes): start a new one{advice}",
            code="request_too_large",
            param=param,
        )
    return parsed, job


def _shortened(parsed: ParsedRequest, job: Job, most: int) -> tuple[ParsedRequest, Job]:
    """The request without so many of its oldest parts that it has `most` bytes, if it may be truncated."""
    if not parsed.generation.truncate:
        return parsed, job
    parts = DroppableParts(parsed.generation.messages)
    messages = parts.without(parts.fewest_for(len(job.generation) - most))
    shortened = replace(parsed, generation=replace(parsed.generation, messages=messages))
    return shortened, replace_generation(job, shortened)
