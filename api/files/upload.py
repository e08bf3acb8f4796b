"""Reads the upload of a file while it arrives: a form of the type multipart/form-data (RFC 7578), bounded.

The file's part goes to the disk at once, the other fields are kept and checked at the end.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from flask import Request
from werkzeug.datastructures import MultiDict
from werkzeug.exceptions import RequestEntityTooLarge
from werkzeug.http import parse_options_header
from werkzeug.sansio.multipart import Data, Epilogue, Event, Field, File, MultipartDecoder, NeedData

from api.files.new_file import NewFile
from api.files.record import BATCH_LIFETIME_S, PURPOSES, FileRecord
from api.files.store import FileStore
from api.http.content_encoding import reject_encoding
from api.http.errors import ApiError, InvalidRequest
from api.http.parameters import integer_text
from api.http.request_body import BODY, CONTENT_ENCODING

MAX_PARTS = 16
MAX_FIELD_BYTES = 256 * 1024
"""Of all fields that are no file, together; it bounds the parser's buffer, too."""

MAX_NAME_CHARS = 255
MIN_LIFETIME_S = 3600
MAX_LIFETIME_S = 30 * 86_400
MAX_BOUNDARY_CHARS = 128  # RFC 2046, 5.1.1, allows 70, but some clients make longer ones of random numbers


FORM_BYTES = MAX_FIELD_BYTES + 64 * 1024
"""What a body may have beside its file."""

MAX_TAIL_BYTES = 64
"""Of a boundary beside its name: the line break, hyphens and white space."""

MAX_UNFINISHED = 4
"""Unfinished boundaries one after the other that are looked at. Clients send none in the midst of a body."""

SLICE_BYTES = 64 * 1024
"""The parser copies what it has, so it gets a body in slices."""


class Upload:
    """An upload that is being read: `feed` it the body, then `store`; `close` in any case.

    All methods may do I/O. They raise `InvalidRequest`, `FileQuotaExceeded`, `StorageFull`, and `ApiError`
    (request_too_large).
    """

    def __init__(self, boundary: bytes, new: NewFile, max_file_bytes: int) -> None:
        self._decoder = MultipartDecoder(boundary, MAX_FIELD_BYTES, max_parts=MAX_PARTS)
        self._unfinished = re.compile(rb"\r?\n?--%b(?:-|[ \t]+)\Z" % re.escape(boundary))
        self._tail_bytes = len(boundary) + MAX_TAIL_BYTES
        self._before = self._held = b""
        """The end of what the decoder has got, and what it gets with the next part."""
        self._new = new
        self._max_file_bytes = max_file_bytes
        self._form: MultiDict[str, str] = MultiDict()
        self._filename: str | None = None
        self._field_bytes = 0
        self._take: Callable[[Data], None] = _drop

    def feed(self, data: bytes | bytearray) -> None:
        """Read a part of the body."""
        for start in range(0, len(data), SLICE_BYTES):
            part = bytes(self._held + data[start : start + SLICE_BYTES])
            end = self._safe_end(part)
            self._held = part[end:]
            self._before = (self._before + part[:end])[-self._tail_bytes :]
            self._decode(part[:end])

    def store(self, store: FileStore) -> FileRecord:
        """Make a file of the whole body."""
        self._decode(self._held)
        self._decode(None)
        purpose = _text(self._form, "purpose")
        if purpose is None:
            raise InvalidRequest("purpose is required", param="purpose")
        if purpose not in PURPOSES:
            raise InvalidRequest(f"purpose must be one of {', '.join(PURPOSES)}", param="purpose")
        if self._filename is None:
            raise _not_one_file()
        if not self._new.size:
            raise InvalidRequest("file must not be empty", param="file")
        return store.commit(self._new, self._filename, purpose, _lifetime_s(self._form, purpose))

    def close(self) -> None:
        """Remove what was not stored."""
        self._new.close()

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
        if isinstance(event, File):
            self._take = _drop
            if event.name == "file":
                if self._filename is not None:
                    raise _not_one_file()
                self._filename = _name(event.filename)
                self._take = self._take_content
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
                self._form.add(name, b"".join(parts).decode("utf-8", "replace"))

        return take

    def _take_content(self, data: Data) -> None:
        if self._new.size + len(data.data) > self._max_file_bytes:
            raise too_large(self._max_file_bytes)
        if data.data:
            self._new.write(data.data)


def boundary_of(content_type: str | None) -> bytes:
    """The boundary of a form by its Content-Type. Raises `ApiError` (unsupported_media_type)."""
    media_type, options = parse_options_header(content_type)
    boundary = options.get("boundary", "")
    if media_type.lower() != "multipart/form-data" or not 1 <= len(boundary) <= MAX_BOUNDARY_CHARS:
        message = "send the file with Content-Type: multipart/form-data; boundary=..."
        raise ApiError(message, code="unsupported_media_type")
    return boundary.encode()


def too_large(limit: int) -> ApiError:
    """The error for a file over `files.max_file_bytes`."""
    return ApiError(f"the file is larger than {limit} bytes (files.max_file_bytes)", code="request_too_large")


def store_whole(request: Request, store: FileStore, tenant: str, max_file_bytes: int) -> FileRecord:
    """Store the file of a body that is in memory, with at most `api.max_body_bytes`."""
    boundary = boundary_of(request.content_type)
    reject_encoding(request.environ.get(CONTENT_ENCODING))
    body: bytes | None = request.environ.get(BODY)
    if body is None:
        body = request.get_data(cache=False, parse_form_data=False)
    upload = Upload(boundary, store.begin(tenant, max(0, len(body) - FORM_BYTES)), max_file_bytes)
    try:
        upload.feed(body)
        return upload.store(store)
    finally:
        upload.close()


def _drop(data: Data) -> None:
    """Take a part of a file of another name."""


def _not_one_file() -> InvalidRequest:
    return InvalidRequest("send one file in the field `file`", param="file")


def _too_many_fields() -> InvalidRequest:
    return InvalidRequest(
        f"the form has more than {MAX_PARTS} parts, or a field larger than {MAX_FIELD_BYTES} bytes"
    )


def _text(form: MultiDict[str, str], name: str) -> str | None:
    values = form.getlist(name)
    if len(values) > 1:
        raise InvalidRequest(f"{name} must be given once", param=name)
    return values[0] if values else None


def _name(given: str | None) -> str:
    """The client's name of the file, without folders: data, which names nothing on disk."""
    name = (given or "").replace("\\", "/").rpartition("/")[2]
    if not name or len(name) > MAX_NAME_CHARS or not name.isprintable():
        message = f"the file's name must have 1 to {MAX_NAME_CHARS} printable characters"
        raise InvalidRequest(message, param="file")
    return name


def _lifetime_s(form: MultiDict[str, str], purpose: str) -> int | None:
    anchor, seconds = _text(form, "expires_after[anchor]"), _text(form, "expires_after[seconds]")
    if anchor is None and seconds is None:
        return BATCH_LIFETIME_S if purpose == "batch" else None
    if anchor != "created_at":
        raise InvalidRequest("expires_after[anchor] must be created_at", param="expires_after[anchor]")
    return integer_text("expires_after[seconds]", seconds or "", MIN_LIFETIME_S, MAX_LIFETIME_S)
