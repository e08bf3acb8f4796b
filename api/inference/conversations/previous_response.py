"""A request that continues a stored response: `previous_response_id` (OpenAI API reference, "Responses").

The conversation is the earlier one without its instructions, the earlier output, and the new input; the new
instructions come first. Tools and options are those of the new request alone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import replace

from api.http.errors import ApiError
from api.inference.answer.large_reads import LogReads
from api.inference.answer.stored_response import read_events
from api.inference.conversations.items import output_items
from api.inference.conversations.joined_request import check_joined
from api.inference.dialects.attachments import Attachments
from api.inference.dialects.base import ParsedRequest, ResponseMetadata, decode_metadata
from api.inference.dialects.images import Images
from api.inference.dialects.recordings import Recordings
from api.inference.dialects.response_items import from_input
from api.inference.dialects.tool_names import ToolNames
from api.inference.responses import dialect as responses
from api.services import AppServices
from generation.generation import Generation, Message
from scheduler.job import Job, JobRow, Status
from scheduler.ledger import AsyncLedger
from streams.events import End, Event

PARAM = "previous_response_id"
NOT_FOUND = "previous_response_not_found"


async def load_previous_response(
    services: AppServices, parsed: ParsedRequest, job: Job
) -> tuple[ParsedRequest, Job]:
    """The request and its job with the conversation of `previous_response_id`, checked against the model.

    Raises `ApiError`: previous_response_not_found for a response that the caller does not have, or that is
    not stored; invalid_request for one that has not ended, failed or was cancelled; request_too_large for a
    conversation with more bytes than a body may have, unless it may be truncated to that; and what
    `capabilities.check` raises.
    """
    id = parsed.previous_response_id
    if id is None:
        return parsed, job
    async with services[LogReads].hold(job.tenant):  # the conversation may have as many bytes as a body
        found = await services[AsyncLedger].lookup_with_generation(id, job.tenant, job.person)
        row, generation = _usable(id, found)
        events = await read_events(services, id)
        if not events or not isinstance(events[-1], End):
            raise _not_found(id)  # its log is lost
        parsed = await asyncio.to_thread(_join, parsed, row, generation, events)
    return await asyncio.to_thread(check_joined, services, parsed, job, f"the conversation of {id}", PARAM)


def _usable(id: str, found: tuple[JobRow, bytes | None] | None) -> tuple[JobRow, bytes]:
    """The row and the request of a stored response that can be continued."""
    if found is None:
        raise _not_found(id)
    row, generation = found
    if row.dialect != responses.NAME or not row.store or generation is None:
        raise _not_found(id)
    if not row.status.is_terminal:
        raise ApiError(f"the response {id} has not ended: it cannot be continued yet", param=PARAM)
    if row.status not in (Status.COMPLETED, Status.INCOMPLETE):
        raise ApiError(f"the response {id} is {row.status.value}: it cannot be continued", param=PARAM)
    return row, generation


def _join(parsed: ParsedRequest, row: JobRow, generation: bytes, events: Iterable[Event]) -> ParsedRequest:
    return add_earlier_conversation(parsed, Generation.from_json(generation), decode_metadata(row), events)


def _not_found(id: str) -> ApiError:
    return ApiError(f"there is no stored response {id}", code=NOT_FOUND, param=PARAM)


def add_earlier_conversation(
    parsed: ParsedRequest, earlier: Generation, metadata: ResponseMetadata, events: Iterable[Event]
) -> ParsedRequest:
    """The request with the conversation of the response that `earlier` asked for and `events` answered.

    Raises `InvalidRequest` when the images or recordings of both exceed the bounds of one request.
    """
    new = parsed.generation.messages
    start = 1 if parsed.echo.get("instructions") else 0
    before = earlier.messages[1:] if metadata.echo.get("instructions") else earlier.messages
    names = ToolNames(parsed.echo.get("tools", ()))
    messages = (*new[:start], *before, *_output_messages(metadata, events, names), *new[start:])
    return replace(
        parsed,
        generation=replace(parsed.generation, messages=messages),
        image_params=_image_params(before, parsed),
        audio_params=_audio_params(before, parsed),
    )


def _output_messages(
    metadata: ResponseMetadata, events: Iterable[Event], names: ToolNames
) -> tuple[Message, ...]:
    """The output as messages, as if the client had sent its items back, without a call that was cut off."""
    messages = from_input(output_items(responses.response_object(metadata, events)), Attachments(), names)
    return tuple(message for message in messages if message.text or message.tool_calls)


def _image_params(before: tuple[Message, ...], parsed: ParsedRequest) -> tuple[str, ...]:
    """The paths of all images; one of an earlier request has the path of the response's id."""
    inherited = [image for message in before for image in message.images]
    if not inherited:
        return parsed.image_params
    images = Images()
    for image in inherited:
        images.add_url(image.url, image.detail, PARAM, PARAM)
    new_images = (image for message in parsed.generation.messages for image in message.images)
    for image, param in zip(new_images, parsed.image_params, strict=True):
        images.add_url(image.url, image.detail, param, param)
    return tuple(images.params)


def _audio_params(before: tuple[Message, ...], parsed: ParsedRequest) -> tuple[str, ...]:
    """The same for recordings."""
    inherited = [recording for message in before for recording in message.recordings]
    if not inherited:
        return parsed.audio_params
    recordings = Recordings()
    for recording in inherited:
        recordings.add_checked(recording, PARAM)
    new = (recording for message in parsed.generation.messages for recording in message.recordings)
    for recording, param in zip(new, parsed.audio_params, strict=True):
        recordings.add_checked(recording, param)
    return tuple(recordings.params)
