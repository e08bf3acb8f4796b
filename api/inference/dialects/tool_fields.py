"""The fields of a request that hold tools and their JSON Schemas.

The schema of a tool that is not strict may have any content: what engines cannot compile is left out of the
grammar (`generation.schemas.loose_schema`). Only one that is no schema of an object is refused.
"""

from __future__ import annotations

import re
from typing import Any

from api.http.strict_fields import ListField, ObjectField
from api.http.strict_schema import SchemaMismatch, raise_mismatch
from api.inference.dialects.tool_schema import check_tools_together

MAX_SHOWN_NAME = 256


class SchemaField(ObjectField):
    """The JSON Schema of a tool's parameters."""

    def check(self, value: object) -> None:
        """Validate a value. Raises `SchemaMismatch`."""
        if not isinstance(value, dict):
            raise SchemaMismatch("must be an object")
        kinds = value.get("type")
        named = kinds if isinstance(kinds, list) else [kinds or "object"]
        if not any(isinstance(kind, str) and kind.lower() == "object" for kind in named):
            raise_mismatch("must be object: the arguments of a function are the properties of one", "type")


class ToolsField(ListField):
    """The tools of a request."""

    def check(self, value: Any) -> None:
        """Validate a value. Raises `SchemaMismatch`."""
        try:
            super().check(value)
        except SchemaMismatch as error:
            raise _naming(error, value) from None
        check_tools_together(value)


def _naming(error: SchemaMismatch, tools: Any) -> SchemaMismatch:
    """The mismatch in a tool's schema, with the name of the tool."""
    found = _IN_SCHEMA.match(error.path)
    if found is not None:
        tool = tools[int(found[1])]
        name = (tool.get("function") or tool).get("name")
        if isinstance(name, str) and len(name) <= MAX_SHOWN_NAME:
            error.message = f"{error.message} (tool {name})"
    return error


_IN_SCHEMA = re.compile(r"\[(\d+)\]\.(?:function\.)?(?:parameters|input_schema)\b")
