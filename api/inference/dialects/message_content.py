"""The content of messages: texts, images, recordings and documents, in the forms of OpenAI's APIs.

The bodies have been validated against their schemas; this module checks what a schema cannot express. Images,
recordings and files are read by the `Attachments` of the request.
"""

from __future__ import annotations

from typing import Any

from api.http.errors import InvalidRequest
from api.inference.dialects.attachments import Attachments
from generation.generation import ContentPart, Message, TextPart, text_content

Json = dict[str, Any]
Content = tuple[ContentPart, ...]

IMAGE_TYPES = ("input_image", "image_url")
FILE_TYPES = ("input_file", "file")
"""The `type` of an image part, and of a file part: in the Responses API, in Chat Completions."""

AUDIO_TYPE = "input_audio"
"""The `type` of an audio part in both."""

_KINDS = {
    **dict.fromkeys(IMAGE_TYPES, "images"),
    **dict.fromkeys(FILE_TYPES, "files"),
    AUDIO_TYPE: "recordings",
}

IMAGES_OF_CALL = "The images in the result of the call {}:\n"
"""What the model reads before the images of a call's result: chat templates have no place for them there."""


def prompt_message(role: str, content: str | list[Json], param: str, attachments: Attachments) -> Message:
    """A user or system message; every role but `user` (system, developer) counts as system.

    Raises `InvalidRequest`.
    """
    if role != "user":
        return Message("system", text_only(content, param))
    return Message("user", any_content(content, f"{param}.content", attachments))


def any_content(content: str | list[Json], param: str, attachments: Attachments) -> Content:
    """Content with parts of all types, at the path `param`. Raises `InvalidRequest`."""
    if isinstance(content, str):
        return text_content(content)
    return tuple(_part(part, f"{param}[{index}]", attachments) for index, part in enumerate(content))


def result_content(content: str | list[Json], param: str, attachments: Attachments) -> Content:
    """The content of the result of a call: texts, images and files. Raises `InvalidRequest`."""
    for index, part in enumerate(content if isinstance(content, list) else ()):
        if part.get("type") == AUDIO_TYPE:
            raise InvalidRequest(
                "only user messages may contain recordings",
                code="unsupported_input",
                param=f"{param}[{index}]",
            )
    return any_content(content, param, attachments)


def _part(part: Json, param: str, attachments: Attachments) -> ContentPart:
    match part.get("type"):
        case "input_image" | "image_url":
            return attachments.add(part, param)
        case "input_audio":
            return attachments.recordings.add(part, param)
        case "input_file":
            return attachments.add_file(part, param)
        case "file":
            return attachments.add_file(part["file"], f"{param}.file")
        case _:
            return TextPart(_text_of_part(part))


def text_only(content: str | list[Json] | None, param: str) -> Content:
    """The content of a message whose role allows text only. Raises `InvalidRequest`."""
    if not isinstance(content, list):
        return text_content(content or "")
    for index, part in enumerate(content):
        if (kind := _KINDS.get(part.get("type") or "")) is not None:
            raise InvalidRequest(
                f"only user messages may contain {kind}",
                code="unsupported_input",
                param=f"{param}.content[{index}]",
            )
    return tuple(TextPart(_text_of_part(part)) for part in content)


def text_of(content: list[Json] | None) -> str:
    """The texts of parts that are texts alone, together."""
    return "".join(map(_text_of_part, content or ()))


def _text_of_part(part: Json) -> str:
    text: str = part["text"] if "text" in part else part["refusal"]
    return text


class ResultImages:
    """The images of the results of calls: they follow the last of these results, in a message of the user."""

    def __init__(self) -> None:
        self._parts: list[ContentPart] = []

    def add(self, id: str, content: Content) -> Content:
        """Keep the images of the result of the call `id`, below its name. Returns the texts of the result."""
        texts = tuple(part for part in content if isinstance(part, TextPart))
        if len(texts) < len(content):
            self._parts.append(TextPart(IMAGES_OF_CALL.format(id)))
            self._parts += (part for part in content if not isinstance(part, TextPart))
        return texts

    def is_empty(self) -> bool:
        """Whether no images are kept."""
        return not self._parts

    def take(self) -> Content:
        """The images of all results since the last call, in their order."""
        taken, self._parts = tuple(self._parts), []
        return taken
