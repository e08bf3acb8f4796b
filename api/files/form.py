"""Reads a form of the type multipart/form-data (RFC 7578) while it arrives, bounded.

The parts with files go to the disk at once, the other fields are kept for the end.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from flask import Request
from werkzeug.datastructures import MultiDict
from werkzeug.exceptions import RequestEntityTooLarge
from werkzeug.http import parse_options_header
from werkzeug.sansio.multipart import Data, Epilogue, Event, Field, File, MultipartDecoder, NeedData

from api.files.new_file import NewFile
from api.http.content_encoding import reject_encoding
from api.http.errors import ApiError, InvalidRequest
from api.http.request_body import BODY, CONTENT_ENCODING

MAX_PARTS = 64
MAX_FIELD_BYTES = 256 * 1024
"""Of all fields that are no file, together; it bounds the parser's buffer, too."""

MAX_NAME_CHARS = 255
MAX_BOUNDARY_CHARS = 128  # RFC 2046, 5.1.1, allows 70, but some clients make longer ones of random numbers


FORM_BYTES = MAX_FIELD_BYTES + 64 * 1024
"""What a body may have beside its files."""

MAX_TAIL_BYTES = 64
"""Of a boundary beside its name: the line break, hyphens and white space."""

MAX_UNFINISHED = 4
"""Unfinished boundaries one after the other that are looked at. Clients send none in the midst of a body."""

SLICE_BYTES = 64 * 1024
"""The parser copies what it has, so it gets a body in slices."""


@dataclass(frozen=True, slots=True)
class FormRules:
    """The files of a form: how many each field may have, and the most bytes of all, which `setting` says.

    Files of other fields are passed over. With `hashed` the contents are hashed on their way.
    """

    most: Mapping[str, int]
    max_bytes: int
    setting: str
    hashed: bool = False

    @property
    def max_body_bytes(self) -> int:
        """The largest body."""
        return self.max_bytes + FORM_BYTES

    def too_large(self) -> ApiError:
        """The error for files over `max_bytes`."""
        subject = "the file is" if sum(self.most.values()) == 1 else "the files are"
        return ApiError(
            f"{subject} larger than {self.max_bytes} bytes ({self.setting})", code="request_too_large"
        )


@dataclass(slots=True)
class FormFile:
    """A file of a form: its field, the client's name of it, its content on the disk, and the hash of that."""

    param: str
    filename: str
    content: NewFile
    digest: Any = field(default_factory=hashlib.sha256)


class UploadForm:
    """A form that is being read: `feed` it the body, then `end`; `close` in any case.

    `files` and `fields` are its parts; files that their user has not placed somewhere are removed by `close`.
    All methods may do I/O. They raise `InvalidRequest`, `FileQuotaExceeded`, `StorageFull`, and `ApiError`
    (request_too_large).
    """

    def __init__(
        self, boundary: bytes, rules: FormRules, begin: Callable[[int], NewFile], expected: int
    ) -> None:
        """`begin` makes a file with room for so many bytes: the first one now, for `expected` bytes."""
        self.rules = rules
        self.fields: MultiDict[str, str] = MultiDict()
        self.files: list[FormFile] = []
        self._decoder = MultipartDecoder(boundary, MAX_FIELD_BYTES, max_parts=MAX_PARTS)
        self._unfinished = re.compile(rb"\r?\n?--%b(?:-|[ \t]+)\Z" % re.escape(boundary))
        self._tail_bytes = len(boundary) + MAX_TAIL_BYTES
        self._before = self._held = b""
        """The end of what the decoder has got, and what it gets with the next part."""
        self._begin = begin
        self._first: NewFile | None = begin(expected)
        self._counts: Counter[str] = Counter()
        self._file_bytes = self._field_bytes = 0
        self._take: Callable[[Data], None] = _drop

    def feed(self, data: bytes | bytearray) -> None:
        """Read a part of the body."""
        for start in range(0, len(data), SLICE_BYTES):
            part = bytes(self._held + data[start : start + SLICE_BYTES])
            end = self._safe_end(part)
            self._held = part[end:]
            self._before = (self._before + part[:end])[-self._tail_bytes :]
            self._decode(part[:end])

    def end(self) -> None:
        """The body is complete."""
        self._decode(self._held)
        self._decode(None)

    def close(self) -> None:
        """Remove the files that were not placed."""
        if self._first is not None:
            self._first.close()
        for file in self.files:
            file.content.close()

    @property
    def digest(self) -> bytes:
        """The SHA-256 of the fields and of the files' contents, in their order."""
        total = hashlib.sha256()
        for name, value in self.fields.items(multi=True):
            total.update(b"%d:%b=%d:%b" % (len(name), name.encode(), len(value), value.encode()))
        for file in self.files:
            total.update(file.param.encode() + b"\0" + file.digest.digest())
        return total.digest()

    def text(self, name: str) -> str | None:
        """The field of that name; None without one. Raises `InvalidRequest` for several."""
        values = self.fields.getlist(name)
        if len(values) > 1:
            raise InvalidRequest(f"{name} must be given once", param=name)
        return values[0] if values else None

    def file(self, name: str) -> FormFile:
        """The only file of a field. Raises `InvalidRequest` if there is none, or an empty one."""
        found = [file for file in self.files if file.param == name]
        if len(found) != 1:
            raise _not_one_file(name)
        if not found[0].content.size:
            raise InvalidRequest(f"{name} must not be empty", param=name)
        return found[0]

    def _safe_end(self, part: bytes) -> int:
        """How much of a part the decoder may get now: up to a boundary that is not complete.

        The decoder (werkzeug 3.1) would take the boundary's first byte, CR, for content if what it gets ends
        behind the boundary's name and before its end.
        """
        text = self._before + part
        end = len(text)
        for _ in range(MAX_UNFINISHED):
            found = self._unfinished.search(text, max(0, end - self._tail_bytes), end)
            if found is None:
                break
            end = found.start()
        return max(0, end - len(self._before))

    def _decode(self, data: bytes | None) -> None:
        try:
            self._decoder.receive_data(data)
            while not isinstance(event := self._decoder.next_event(), (Epilogue, NeedData)):
                self._take_event(event)
        except RequestEntityTooLarge:
            raise _too_many_fields() from None
        except ValueError:
            message = "the body is not a complete multipart/form-data form"
            raise InvalidRequest(message) from None

    def _take_event(self, event: Event) -> None:
        # RFC 7578, 4.2, demands a name; the decoder has None for a part without one
        if isinstance(event, (File, Field)) and not event.name:
            raise InvalidRequest("each part of the form must have a name")
        if isinstance(event, File):
            self._take = self._content(event) if event.name in self.rules.most else _drop
        elif isinstance(event, Field):
            self._take = self._field(event.name)
        elif isinstance(event, Data):
            self._take(event)

    def _field(self, name: str) -> Callable[[Data], None]:
        parts: list[bytes] = []

        def take(data: Data) -> None:
            self._field_bytes += len(data.data)
            if self._field_bytes > MAX_FIELD_BYTES:
                raise _too_many_fields()
            parts.append(data.data)
            if not data.more_data:
                self.fields.add(name, b"".join(parts).decode("utf-8", "replace"))

        return take

    def _content(self, event: File) -> Callable[[Data], None]:
        """Begin a file of a field; the returned function takes its content."""
        most = self.rules.most[event.name]
        self._counts[event.name] += 1
        if self._counts[event.name] > most:
            if most == 1:
                raise _not_one_file(event.name)
            raise InvalidRequest(f"{event.name} may have at most {most} files", param=event.name)
        name = _name(event.filename, event.name)
        content, self._first = self._first or self._begin(0), None
        file = FormFile(event.name, name, content)
        self.files.append(file)

        def take(data: Data) -> None:
            self._file_bytes += len(data.data)
            if self._file_bytes > self.rules.max_bytes:
                raise self.rules.too_large()
            if data.data:
                content.write(data.data)
                if self.rules.hashed:
                    file.digest.update(data.data)
            if not data.more_data:
                content.release_rest()

        return take


def boundary_of(content_type: str | None) -> bytes:
    """The boundary of a form by its Content-Type. Raises `ApiError` (unsupported_media_type)."""
    media_type, options = parse_options_header(content_type)
    boundary = options.get("boundary", "")
    if media_type.lower() != "multipart/form-data" or not 1 <= len(boundary) <= MAX_BOUNDARY_CHARS:
        message = "send the file with Content-Type: multipart/form-data; boundary=..."
        raise ApiError(message, code="unsupported_media_type")
    return boundary.encode()


def read_whole(request: Request, rules: FormRules, begin: Callable[[int], NewFile]) -> UploadForm:
    """Read the form of a body that is in memory, with at most `api.max_body_bytes`; `close` it."""
    boundary = boundary_of(request.content_type)
    reject_encoding(request.environ.get(CONTENT_ENCODING))
    body: bytes | None = request.environ.get(BODY)
    if body is None:
        body = request.get_data(cache=False, parse_form_data=False)
    form = UploadForm(boundary, rules, begin, max(0, len(body) - FORM_BYTES))
    try:
        form.feed(body)
        form.end()
    except BaseException:
        form.close()
        raise
    return form


def _drop(data: Data) -> None:
    """Take a part of a file of another name."""


def _not_one_file(name: str) -> InvalidRequest:
    return InvalidRequest(f"send one file in the field `{name}`", param=name)


def _too_many_fields() -> InvalidRequest:
    return InvalidRequest(
        f"the form has more than {MAX_PARTS} parts, or a field larger than {MAX_FIELD_BYTES} bytes"
    )


def _name(given: str | None, param: str) -> str:
    """The client's name of a file, without folders: data, which names nothing on disk."""
    name = (given or "").replace("\\", "/").rpartition("/")[2]
    if not name or len(name) > MAX_NAME_CHARS or not name.isprintable():
        message = f"the file's name must have 1 to {MAX_NAME_CHARS} printable characters"
        raise InvalidRequest(message, param=param)
    return name
