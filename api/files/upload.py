"""Reads the upload of a file: a form of the media type multipart/form-data (RFC 7578), which is bounded.

The body has arrived as a whole, with at most `api.max_body_bytes`.
"""

from __future__ import annotations

from dataclasses import dataclass
from io import BytesIO
from typing import IO

from flask import Request
from werkzeug.datastructures import FileStorage, MultiDict
from werkzeug.exceptions import RequestEntityTooLarge
from werkzeug.formparser import MultiPartParser

from api.errors import ApiError, InvalidRequest
from api.files.record import BATCH_LIFETIME_S, PURPOSES
from api.request_body import BODY

MAX_PARTS = 16
MAX_FIELD_BYTES = 256 * 1024
"""Of all fields that are no file, together; it bounds the parser's buffer, too."""

MAX_NAME_CHARS = 255
MIN_LIFETIME_S = 3600
MAX_LIFETIME_S = 30 * 86_400
MAX_BOUNDARY_CHARS = 128  # RFC 2046, 5.1.1, allows 70, but some clients make longer ones of random numbers


@dataclass(frozen=True, slots=True)
class Upload:
    """A file as the client sent it. `lifetime_s`: seconds until it expires; None: never."""

    filename: str
    purpose: str
    content: bytes
    lifetime_s: int | None


def read_upload(request: Request) -> Upload:
    """The file of a form. Raises `ApiError` (unsupported_media_type), `InvalidRequest`."""
    form, files = _parse(request)
    purpose = _text(form, "purpose")
    if purpose is None:
        raise InvalidRequest("purpose is required", param="purpose")
    if purpose not in PURPOSES:
        raise InvalidRequest(f"purpose must be one of {', '.join(PURPOSES)}", param="purpose")
    if len(files.getlist("file")) != 1:
        raise InvalidRequest("send one file in the field `file`", param="file")
    file = files["file"]
    content = file.stream.read()
    if not content:
        raise InvalidRequest("file must not be empty", param="file")
    return Upload(_name(file.filename), purpose, content, _lifetime_s(form, purpose))


def _parse(request: Request) -> tuple[MultiDict[str, str], MultiDict[str, FileStorage]]:
    boundary = request.mimetype_params.get("boundary", "")
    if request.mimetype != "multipart/form-data" or not 1 <= len(boundary) <= MAX_BOUNDARY_CHARS:
        message = "send the file with Content-Type: multipart/form-data; boundary=..."
        raise ApiError(message, code="unsupported_media_type")
    body: bytes | None = request.environ.get(BODY)
    if body is None:
        body = request.get_data(cache=False, parse_form_data=False)
    parser = MultiPartParser(_in_memory, max_form_memory_size=MAX_FIELD_BYTES, max_form_parts=MAX_PARTS)
    try:
        return parser.parse(BytesIO(body), boundary.encode(), len(body))
    except RequestEntityTooLarge:
        message = f"the form has more than {MAX_PARTS} parts, or fields of more than {MAX_FIELD_BYTES} bytes"
        raise InvalidRequest(message) from None
    except ValueError:
        raise InvalidRequest("the body is no complete form of the media type multipart/form-data") from None


def _in_memory(
    total_content_length: int | None,  # noqa: ARG001 - werkzeug's interface
    content_type: str | None,  # noqa: ARG001
    filename: str | None,  # noqa: ARG001
    content_length: int | None = None,  # noqa: ARG001
) -> IO[bytes]:
    """The stream that takes a file's part."""
    return BytesIO()


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
    if not (seconds and seconds.isascii() and seconds.isdigit() and len(seconds) < 10) or not (
        MIN_LIFETIME_S <= int(seconds) <= MAX_LIFETIME_S
    ):
        message = f"expires_after[seconds] must be an integer from {MIN_LIFETIME_S} to {MAX_LIFETIME_S}"
        raise InvalidRequest(message, param="expires_after[seconds]")
    return int(seconds)
