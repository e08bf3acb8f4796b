"""The attachments of a request: images, recordings, and documents whose text becomes a part of the prompt.

The text of a PDF file or a stored file is read later (`api.inference.document_reader`); until then a
heading stands in its place. Nothing is fetched.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from api.http.errors import InvalidRequest
from api.inference.dialects.base64_data import decode_base64
from api.inference.dialects.images import Images
from api.inference.dialects.recordings import Recordings
from api.inference.documents.kinds import add_heading, is_pdf, text_of
from generation.generation import ContentPart, Message, TextPart

MAX_DOCUMENTS = 16

_DATA_URL = re.compile(r"data:([\w.+-]+/[\w.+-]+)?(?:;[\w-]+=[\w.-]+)*;base64,")


@dataclass(frozen=True, slots=True)
class PendingDocument:
    """A document whose text is read later: the bytes of a PDF file, or the id of a stored file.

    `param` is its path in the body. `part` is the object in the prompt in whose place its text will stand,
    below the text that `part` has now: a heading, such as the file's name.
    """

    param: str
    part: TextPart
    data: bytes = b""
    file_id: str | None = None


@dataclass(frozen=True, slots=True)
class SealedSummary:
    """The summary of a compacted conversation, which is decrypted later
    (`api.inference.dialects.sealed_summaries`).

    `param` is its path in the body. `part` is the object in the prompt in whose place its text will stand.
    """

    param: str
    part: TextPart
    content: str


class Attachments(Images):
    """The images, recordings and documents of one request, counted as they are read.

    `documents` are those whose text is read later, `summaries` those of compacted conversations.
    """

    __slots__ = ("_document_count", "documents", "recordings", "summaries")

    def __init__(self) -> None:
        super().__init__()
        self.recordings = Recordings()
        self.documents: list[PendingDocument] = []
        self.summaries: list[SealedSummary] = []
        self._document_count = 0

    def add_file(self, part: dict[str, Any], param: str) -> TextPart:
        """Read an `input_file` part, or the `file` of a part of Chat Completions, which stands at `param`.

        Raises `InvalidRequest`.
        """
        name, data, id = part.get("filename") or "", part.get("file_data"), part.get("file_id")
        if part.get("file_url") is not None:
            raise InvalidRequest(
                "files are not fetched: send the file as file_data",
                code="unsupported_input",
                param=f"{param}.file_url",
            )
        if (data is None) == (id is None):
            raise InvalidRequest("a file needs either file_data or file_id", param=f"{param}.file_data")
        if data is None:
            return self.add_stored(id, f"{param}.file_id", heading=name)
        return self.add_document(data, None, name, f"{param}.file_data", heading=name)

    def add_document(
        self, data: str, media_type: str | None, name: str, param: str, *, heading: str
    ) -> TextPart:
        """Read a document in base64, or a data: URL of one, which stands at the path `param`.

        Raises `InvalidRequest`.
        """
        if (prefix := _DATA_URL.match(data)) is not None:
            media_type, data = prefix[1] or media_type, data[prefix.end() :]
        try:
            content, _ = decode_base64(data)
        except ValueError:
            raise InvalidRequest("the document is not valid base64", param=param) from None
        if is_pdf(content, media_type, name):
            return self._add_pending(PendingDocument(param, TextPart(heading), content))
        self._count_document(param)
        return TextPart(add_heading(heading, text_of(content, media_type, name, param)))

    def add_stored(self, id: str | None, param: str, *, heading: str) -> TextPart:
        """Add a stored file by its id, which stands at the path `param`. Raises `InvalidRequest`."""
        return self._add_pending(PendingDocument(param, TextPart(heading), file_id=id))

    def add_summary(self, content: str, param: str) -> TextPart:
        """Add a sealed summary, which stands at the path `param`."""
        part = TextPart("")
        self.summaries.append(SealedSummary(param, part, content))
        return part

    def _add_pending(self, document: PendingDocument) -> TextPart:
        self._count_document(document.param)
        self.documents.append(document)
        return document.part

    def _count_document(self, param: str) -> None:
        self._document_count += 1
        if self._document_count > MAX_DOCUMENTS:
            raise InvalidRequest(
                f"a request may contain at most {MAX_DOCUMENTS} files", code="unsupported_input", param=param
            )


def add_texts(messages: tuple[Message, ...], texts: Mapping[int, str]) -> tuple[Message, ...]:
    """The messages with texts of attachments, each by the identity of the part in whose place it stands."""

    def filled(part: ContentPart) -> ContentPart:
        text = texts.get(id(part))
        return (
            part if text is None or not isinstance(part, TextPart) else TextPart(add_heading(part.text, text))
        )

    return tuple(
        replace(message, content=tuple(map(filled, message.content)))
        if any(id(part) in texts for part in message.content)
        else message
        for message in messages
    )
