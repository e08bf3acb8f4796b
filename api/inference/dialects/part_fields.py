"""The parts of a message's content that clients send, in the forms of OpenAI's APIs and of other servers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from api.http.strict_fields import EnumField, ListField, NestedField, StringField, TaggedUnionField
from api.http.strict_schema import StrictSchema
from generation.generation import AUDIO_FORMATS

DETAILS = ("auto", "low", "high", "original")
IMAGE = "a data: URL, in base64, of a PNG, JPEG, WebP or GIF file."


class TextPartSchema(StrictSchema):
    """A text."""

    type = EnumField("The type.", ("text", "input_text", "output_text", "summary_text", "reasoning_text"))
    text = StringField("The text.", required=True)


class RefusalPartSchema(StrictSchema):
    """An earlier refusal of the assistant."""

    type = EnumField("The type.", ("refusal",), required=True)
    refusal = StringField("The text.", required=True)


class ImagePartSchema(StrictSchema):
    """An image in the form of the Responses API. Only user messages may hold images."""

    type = EnumField("The type.", ("input_image",), required=True)
    image_url = StringField(f"The image: {IMAGE}")
    detail = EnumField("The resolution to read it at, for engines that support it.", DETAILS)
    file_id = StringField("Not supported.", excludes={"type": "string"})


class InputAudio(StrictSchema):
    """A recording."""

    data = StringField("The file, in base64.", required=True)
    format = EnumField("What the file is.", AUDIO_FORMATS, required=True)


class AudioPartSchema(StrictSchema):
    """A recording, in the form of both APIs. Only user messages may hold recordings."""

    type = EnumField("The type.", ("input_audio",), required=True)
    input_audio = NestedField("The recording.", InputAudio, required=True)


FILE_DATA = (
    "The file: a PDF file, or a text (plain, Markdown, CSV, JSON) in UTF-8; in base64, or a data: URL of it."
)
FILE_ID = "The id of a file of /v1/files, instead of `file_data`."


_WITH_CONTENT = {
    "oneOf": [
        {"required": [name], "properties": {name: {"type": "string"}}} for name in ("file_data", "file_id")
    ]
}


class FilePartSchema(StrictSchema):
    """A document in the form of the Responses API, whose text is read. Only user messages may hold files."""

    also: ClassVar[Mapping[str, Any]] = {
        "allOf": [_WITH_CONTENT, {"properties": {"file_url": {"type": "null"}}}]
    }

    type = EnumField("The type.", ("input_file",), required=True)
    filename = StringField("Its name, which precedes the text.", max_length=256)
    file_data = StringField(FILE_DATA)
    file_id = StringField(FILE_ID, max_length=256)
    file_url = StringField("Not supported.")


class ChatFile(StrictSchema):
    """A document."""

    also: ClassVar[Mapping[str, Any]] = _WITH_CONTENT

    filename = StringField("Its name, which precedes the text.", max_length=256)
    file_data = StringField(FILE_DATA)
    file_id = StringField(FILE_ID, max_length=256)


class ChatFilePartSchema(StrictSchema):
    """A document in the form of Chat Completions, whose text is read. Only user messages may hold files."""

    type = EnumField("The type.", ("file",), required=True)
    file = NestedField("The document.", ChatFile, required=True)


class ImageUrl(StrictSchema):
    """The URL of an image."""

    url = StringField(f"The image: {IMAGE}", required=True)
    detail = EnumField("The resolution to read it at, for engines that support it.", DETAILS)


class ChatImagePartSchema(StrictSchema):
    """An image in the form of Chat Completions. Only user messages may hold images."""

    type = EnumField("The type.", ("image_url",), required=True)
    image_url = NestedField("The image.", ImageUrl, required=True)


class OtherPartSchema(StrictSchema):
    """A part that is left out of the assistant's messages: a call or reasoning of another API."""


CHAT_PARTS: Mapping[str, type[StrictSchema]] = {
    "text": TextPartSchema,
    "refusal": RefusalPartSchema,
    "image_url": ChatImagePartSchema,
    "input_audio": AudioPartSchema,
    "file": ChatFilePartSchema,
}
"""The parts of a chat message."""


class PartsField(ListField):
    """The parts of a message's content, each completed in the body by `complete` before it is checked.

    A text alone becomes a part.
    """

    def __init__(
        self,
        description: str,
        schemas: Mapping[str, type[StrictSchema]],
        complete: Callable[[dict[str, Any]], None],
        *,
        other: type[StrictSchema] | None = None,
    ) -> None:
        part = TaggedUnionField("A part.", schemas, code="unsupported_input", other=other)
        super().__init__(description, part)
        self._complete = complete

    def check(self, value: Any) -> None:
        """Complete the parts of a value, and validate it. Raises `SchemaMismatch`."""
        if isinstance(value, list):
            for index, part in enumerate(value):
                if isinstance(part, str):
                    value[index] = part = {"text": part}  # noqa: PLW2901 - the value of the body changes, too
                if isinstance(part, dict):
                    self._complete(part)
        super().check(value)


def add_type(part: dict[str, Any], **types: str) -> None:
    """Set the type of a part without one by the field that it has, if it has a single one of these."""
    if not part.get("type"):
        found = [kind for name, kind in types.items() if name in part]
        if len(found) == 1:
            (part["type"],) = found


def complete_chat_part(part: dict[str, Any]) -> None:
    """Give a part the form of Chat Completions: it may lack its type, or have the form of Responses."""
    others = {name: name for name in ("image_url", "input_audio", "refusal", "file")}
    add_type(part, text="text", **others)
    url = part.get("image_url")
    match part.get("type"):
        case "input_text" | "output_text":
            part["type"] = "text"
        case "input_image" | "image_url" if isinstance(url, str):
            part |= {"type": "image_url", "image_url": {"url": url, "detail": part.get("detail")}}
        case "input_file":
            part |= {"type": "file", "file": {**part}}
    _fill_text(part)


def complete_responses_part(part: dict[str, Any]) -> None:
    """Give a part the form of Responses: it may lack its type, or have the form of Chat Completions."""
    others = {name: name for name in ("input_audio", "refusal")}
    add_type(part, text="input_text", image_url="input_image", file_data="input_file", **others)
    url, file = part.get("image_url"), part.get("file")
    match part.get("type"):
        case "text":
            part["type"] = "input_text"
        case "input_image" | "image_url" if isinstance(url, dict):
            part |= {"detail": url.get("detail"), **part, "type": "input_image", "image_url": url.get("url")}
        case "file" if isinstance(file, dict):
            part |= {**file, "type": "input_file"}
    _fill_text(part)


def complete_text(kind: str) -> Callable[[dict[str, Any]], None]:
    """A function that gives a text the type `kind` where it has none, or the type `text`."""

    def complete(part: dict[str, Any]) -> None:
        add_type(part, text=kind)
        if part.get("type") == "text":
            part["type"] = kind
        _fill_text(part)

    return complete


def _fill_text(part: dict[str, Any]) -> None:
    """Make an empty text of one that is null."""
    if "text" in part and part["text"] is None:
        part["text"] = ""
