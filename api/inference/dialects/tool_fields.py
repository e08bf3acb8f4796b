"""The fields of a request that hold tools and their JSON Schemas, with the bounds of `tool_schema`."""

from __future__ import annotations

from typing import Any

from api.http.strict_fields import ListField, ObjectField
from api.http.strict_schema import SchemaMismatch
from api.inference.dialects.tool_schema import check_tool_schema, check_tools_together


class SchemaField(ObjectField):
    """A JSON Schema that every engine can turn into a grammar."""

    def check(self, value: object) -> None:
        """Validate a value. Raises `SchemaMismatch`."""
        if not isinstance(value, dict):
            raise SchemaMismatch("must be an object")
        check_tool_schema(value)


class ToolsField(ListField):
    """The tools of a request."""

    def check(self, value: Any) -> None:
        """Validate a value. Raises `SchemaMismatch`."""
        super().check(value)
        check_tools_together(value)
