"""The images that the nodes of a workflow load, written to the disk before its job is admitted."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing
from functools import partial
from typing import Any, BinaryIO

from api.files.new_file import NewFile
from api.files.store import FileStore
from api.http.errors import ApiError, InvalidRequest
from api.inference.comfyui.schema import MAX_INPUTS
from api.inference.dialects.base64_data import decode_base64
from api.inference.images.upload_size import PixelBudget

MAX_NAME_CHARS = 255
PART_BYTES = 1 << 20
DATA, BASE64 = "data:image/", ";base64,"


class WorkflowInputs:
    """Writes the images of a request of a tenant; `closing` removes those that no job has taken.

    All methods do I/O.
    """

    def __init__(self, store: FileStore, tenant: str, max_bytes: int, closing: ExitStack) -> None:
        self._store = store
        self._tenant = tenant
        self._left = self._max_bytes = max_bytes
        self._closing = closing
        self.pixels = PixelBudget()

    def write(self, inputs: dict[str, Any]) -> list[NewFile]:
        """The images in their order: each a file's id or a data URL.

        Raises `InvalidRequest`, `NotFound`, `FileQuotaExceeded`, `StorageFull`, and `ApiError`
        (request_too_large).
        """
        if len(inputs) > MAX_INPUTS:
            raise InvalidRequest(f"inputs may have at most {MAX_INPUTS} images", param="inputs")
        return [self._write(name, value) for name, value in inputs.items()]

    def _write(self, name: str, value: Any) -> NewFile:
        param = f"inputs.{name[:64]}"
        if not name.isprintable() or not 1 <= len(name) <= MAX_NAME_CHARS:
            message = f"the name of an image must have 1 to {MAX_NAME_CHARS} printable characters"
            raise InvalidRequest(message, param="inputs")
        if not isinstance(value, str):
            raise InvalidRequest("must be the id of a file, or a data URL", param=param)
        parts = [_decoded(value, param)] if value.startswith("data:") else self._parts_of_file(value, param)
        new: NewFile | None = None
        head = b""
        for part in parts:
            self._left -= len(part)
            if self._left < 0:
                raise ApiError(
                    f"the images are larger than {self._max_bytes} bytes (files.max_media_bytes)",
                    code="request_too_large",
                    param=param,
                )
            if new is None:
                new = self._store.begin(self._tenant, len(part))
                self._closing.callback(new.close)
                head = part[:PART_BYTES]
            new.write(part)
        if new is None:
            raise InvalidRequest("the image must not be empty", param=param)
        new.release_rest()
        self.pixels.take(head, param)
        return new

    def _parts_of_file(self, id: str, param: str) -> Iterator[bytes]:
        try:
            file: BinaryIO = self._store.open(self._tenant, id)
        except ApiError as error:
            error.param = param
            raise
        with closing(file):
            yield from iter(partial(file.read, PART_BYTES), b"")


def _decoded(url: str, param: str) -> bytes:
    head, separator, data = url.partition(BASE64)
    if not separator or not head.startswith(DATA):
        raise InvalidRequest("a data URL begins with data:image/png;base64,", param=param)
    try:
        return decode_base64(data)[0]
    except ValueError:
        raise InvalidRequest("the image is not valid base64", param=param) from None
