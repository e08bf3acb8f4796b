"""The record of a stored file: what its `<id>.json` holds, and the object that clients get."""

from __future__ import annotations

import re
import secrets
from dataclasses import asdict, dataclass, fields
from typing import Any

import orjson

PURPOSES = ("assistants", "batch", "user_data", "vision")
"""The purposes of uploads."""

OUTPUT_PURPOSE = "batch_output"
"""The purpose of the files with a batch's results."""

BATCH_LIFETIME_S = 30 * 86_400
"""How long a file of the purpose `batch` is kept unless the upload says otherwise."""

_ID = re.compile(r"file-[0-9a-f]{32}")


@dataclass(frozen=True, slots=True)
class FileRecord:
    """A stored file of `size` bytes. `created_us` is in Unix microseconds, `expires_at` in seconds.

    `filename` is the client's text: it names nothing on disk.
    """

    id: str
    filename: str
    purpose: str
    size: int
    created_us: int
    expires_at: int | None = None

    def has_expired(self, now: float) -> bool:
        """Whether the file is to be treated as gone."""
        return self.expires_at is not None and self.expires_at <= now

    def to_json(self) -> bytes:
        """The record as it is stored."""
        return orjson.dumps(asdict(self))

    def as_object(self) -> dict[str, Any]:
        """OpenAI's file object (OpenAI API reference, "Files")."""
        return {
            "id": self.id,
            "object": "file",
            "bytes": self.size,
            "created_at": self.created_us // 1_000_000,
            "filename": self.filename,
            "purpose": self.purpose,
            "status": "processed",
            "expires_at": self.expires_at,
        }


def read_record(data: bytes) -> FileRecord:
    """The record of its stored form. Raises `ValueError`, `LookupError`, `TypeError`."""
    values = orjson.loads(data)
    return FileRecord(
        **{field.name: values[field.name] for field in fields(FileRecord) if field.name in values}
    )


def new_record(  # noqa: PLR0913 - all that a record consists of
    filename: str, purpose: str, size: int, lifetime_s: int | None, now: float, *, id: str | None = None
) -> FileRecord:
    """The record of a new file, with a random id unless one is given."""
    expires_at = None if lifetime_s is None else int(now) + lifetime_s
    return FileRecord(id or new_file_id(), filename, purpose, size, int(now * 1e6), expires_at)


def new_file_id() -> str:
    """A random id."""
    return f"file-{secrets.token_hex(16)}"


def is_file_id(text: str) -> bool:
    """Whether the text has the form of an id. Only such a text becomes part of a path."""
    return _ID.fullmatch(text) is not None
