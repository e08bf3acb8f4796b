"""The format of the answer and strict tools, in the forms of the dialects.

The schemas were checked with the body (`api.inference.dialects.output_format_fields`), so that only Ollama's,
which has no schema of its own there, can be refused here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from api.http.errors import InvalidRequest
from api.http.strict_schema import SchemaMismatch
from api.inference.dialects.output_format_fields import check_output_schema
from generation.generation import JsonFormat, Tool


def from_response_format(raw: Mapping[str, Any] | None) -> JsonFormat | None:
    """The format of a `response_format` (Chat Completions); None for text."""
    if raw and raw.get("type") == "json_schema":
        return _named_schema(raw["json_schema"])
    return _json_object(raw)


def from_text_format(raw: Mapping[str, Any] | None) -> JsonFormat | None:
    """The format of a `text.format` (Responses); None for text."""
    if raw and raw.get("type") == "json_schema":
        return _named_schema(raw)
    return _json_object(raw)


def text_format_echo(raw: Mapping[str, Any]) -> dict[str, Any]:
    """The `text.format` of a Response object: all fields of the request's, also those that it left out."""
    if raw.get("type") != "json_schema":
        return {"type": raw.get("type") or "text"}
    return {
        "type": "json_schema",
        "name": raw["name"],
        "description": raw.get("description"),
        "schema": {"type": "object"} if raw.get("schema") is None else raw["schema"],
        "strict": bool(raw.get("strict")),
    }


def from_output_config(raw: Mapping[str, Any] | None) -> JsonFormat | None:
    """The format of an `output_config` (Anthropic); None for text."""
    given = (raw or {}).get("format")
    return None if given is None else JsonFormat(check_output_schema(given["schema"]))


def from_ollama_format(raw: Any) -> JsonFormat | None:
    """The format of Ollama's `format`: "json" or a schema; None for text. Raises `InvalidRequest`."""
    if raw is None or raw == "":
        return None
    if raw == "json":
        return JsonFormat()
    if not isinstance(raw, dict):
        raise InvalidRequest('format must be "json" or a JSON Schema', param="format")
    try:
        return JsonFormat(check_output_schema(raw))
    except SchemaMismatch as error:
        path = error.inside("format").path
        raise InvalidRequest(f"{path} {error.message}", code=error.code, param=path) from error


def tool_of(
    name: str, description: str | None, parameters: Mapping[str, Any] | None, *, strict: bool | None
) -> Tool:
    """A tool; the parameters of a strict one are in the form for engines."""
    if not strict:
        return Tool(name, description, parameters)
    schema = {"type": "object", "additionalProperties": False} if parameters is None else parameters
    return Tool(name, description, check_output_schema(schema), strict=True)


def _named_schema(raw: Mapping[str, Any]) -> JsonFormat:
    if raw.get("schema") is None:
        return JsonFormat()
    schema, strict = check_output_schema(raw["schema"]), bool(raw.get("strict"))
    return JsonFormat(schema, raw["name"], raw.get("description"), strict)


def _json_object(raw: Mapping[str, Any] | None) -> JsonFormat | None:
    if not raw or raw.get("type") != "json_object":
        return None
    schema = raw.get("schema")
    return JsonFormat(check_output_schema(schema) if schema else None)
