"""The objects of /v1/files (OpenAI API reference, "Files")."""

from __future__ import annotations

from marshmallow import Schema, fields


def _about(text: str) -> dict[str, str]:
    return {"description": text}


class FileObject(Schema):
    """A stored file."""

    id = fields.String(required=True)
    object = fields.String(required=True)
    bytes = fields.Integer(required=True)
    created_at = fields.Integer(required=True, metadata=_about("Unix time in seconds."))
    filename = fields.String(required=True, metadata=_about("As the client named it, without folders."))
    purpose = fields.String(required=True)
    status = fields.String(required=True, metadata=_about("Always `processed`."))
    expires_at = fields.Integer(
        required=True, allow_none=True, metadata=_about("Unix time in seconds; null: never.")
    )


class FileList(Schema):
    """A page of files."""

    object = fields.String(required=True)
    data = fields.List(fields.Nested(FileObject), required=True)
    first_id = fields.String(required=True, allow_none=True)
    last_id = fields.String(required=True, allow_none=True)
    has_more = fields.Boolean(required=True)


class DeletedFile(Schema):
    """The answer to a delete."""

    id = fields.String(required=True)
    object = fields.String(required=True)
    deleted = fields.Boolean(required=True)
