"""The bodies of /tools."""

from __future__ import annotations

from marshmallow import Schema, fields

from api.http.strict_fields import BooleanField, ObjectField, StringField
from api.http.strict_schema import StrictSchema

MAX_NAME = 256


class ToolCall(StrictSchema):
    """`POST /tools`."""

    tool = StringField("The name of the tool.", required=True, max_length=MAX_NAME, example="read_file")
    params = ObjectField("The arguments, by name.")
    stream = BooleanField("No tool of this platform has a stream.")


class Tool(Schema):
    """A tool that the caller may call."""

    tool = fields.String(required=True)
    display_name = fields.String(required=True)
    type = fields.String(required=True, metadata={"enum": ["builtin", "mcp"]})
    permissions = fields.Dict(required=True, metadata={"description": "`write`: it changes files."})
    uses_cwd = fields.Boolean(required=True)
    definition = fields.Dict(
        required=True, metadata={"description": "An entry of `tools` in a chat completion."}
    )


class FoundEntry(Schema):
    """A file or folder that `file_glob_search` has found."""

    path = fields.String(required=True, metadata={"description": "Relative to `base`."})
    type = fields.String(required=True, metadata={"enum": ["file", "dir"]})


class ToolResult(Schema):
    """The result: `plain_text_response`, or the fields that the tool has, or `error`."""

    plain_text_response = fields.String(metadata={"description": "The content of a message of the tool."})
    error = fields.String(metadata={"description": "Why the tool has failed."})
    result = fields.String(metadata={"description": "The time, or what has been done."})
    path = fields.String(metadata={"description": "The file that was changed."})
    bytes = fields.Integer(metadata={"description": "The size of the file that was written."})
    edits_applied = fields.Integer()
    base64 = fields.String(metadata={"description": "The content of a file."})
    size_bytes = fields.Integer()
    entries = fields.List(fields.Nested(FoundEntry))
    base = fields.String(metadata={"description": "The folder that was searched."})


class ToolsErrorObject(Schema):
    """The error's members."""

    code = fields.Integer(metadata={"description": "The HTTP status; `feature_disabled` has none."})
    message = fields.String(required=True)
    type = fields.String(required=True)


class ToolsError(Schema):
    """An error in llama-server's form."""

    error = fields.Nested(ToolsErrorObject, required=True)
