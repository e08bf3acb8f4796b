"""A request that continues a stored response: `previous_response_id` (OpenAI API reference, "Responses").

The conversation is the earlier one without its instructions, the earlier output, and the new input; the new
instructions come first. Tools and options are those of the new request alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from api.inference.dialects.attachments import Attachments
from api.inference.dialects.base import ParsedRequest, ResponseMetadata
from api.inference.dialects.chat_messages import from_input
from api.inference.dialects.images import Images
from api.inference.responses import dialect as responses
from generation.generation import Generation, Message
from streams.events import Event

PARAM = "previous_response_id"


def continued(
    parsed: ParsedRequest, earlier: Generation, metadata: ResponseMetadata, events: Iterable[Event]
) -> ParsedRequest:
    """The request with the conversation of the response that `earlier` asked for and `events` answered.

    Raises `InvalidRequest` when the images of both exceed the bounds of one request.
    """
    own = parsed.generation.messages
    start = 1 if parsed.echo.get("instructions") else 0
    before = earlier.messages[1:] if metadata.echo.get("instructions") else earlier.messages
    messages = (*own[:start], *before, *_answer(metadata, events), *own[start:])
    return replace(
        parsed,
        generation=replace(parsed.generation, messages=messages),
        image_params=_image_params(before, parsed),
    )


def _answer(metadata: ResponseMetadata, events: Iterable[Event]) -> tuple[Message, ...]:
    """The output as messages, as if the client had sent its items back, without a call that was cut off."""
    items = [
        item
        for item in responses.response_object(metadata, events)["output"]
        if item["type"] != "function_call" or item["status"] == "completed"
    ]
    messages = from_input(items, Attachments())
    return tuple(message for message in messages if message.text or message.tool_calls)


def _image_params(before: tuple[Message, ...], parsed: ParsedRequest) -> tuple[str, ...]:
    """The paths of all images; one of an earlier request has the path of the response's id."""
    inherited = [image for message in before for image in message.images]
    if not inherited:
        return parsed.image_params
    images = Images()
    for image in inherited:
        images.add_url(image.url, image.detail, PARAM, PARAM)
    own = (image for message in parsed.generation.messages for image in message.images)
    for image, param in zip(own, parsed.image_params, strict=True):
        images.add_url(image.url, image.detail, param, param)
    return tuple(images.params)
