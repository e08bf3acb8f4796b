"""The schemas of tools as MCP servers, zod and pydantic write them: none is refused, little is left out."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import jsonschema_rs
import pytest

from api.inference.chat.schema import ChatRequest
from api.inference.messages.schema import MessagesRequest
from backends.shared.engine.answer_grammar import grammar_of_calls
from backends.shared.engine.syntax import GEMMA4, QWEN3
from backends.stub.engine.instance import instance
from generation.schemas.loose_schema import loosened
from generation.schemas.output_schema import enforceable
from tests.support.tool_schemas import HERE, PYDANTIC_TYPES, pydantic_schemas, stored, tool_schemas

SCHEMAS = dict(tool_schemas())
ENFORCED = {
    *("string", "number", "int", "boolean", "null", "literal", "literals", "enum", "nativeEnum", "email"),
    *("html5Email", "unicodeEmail", "emailWithLength", "uuid", "uuidv4", "uuidv7", "guid"),
    *("url", "httpUrl", "base64url", "nanoid", "cuid", "cuid2", "ulid", "xid", "ksuid", "ipv4", "ipv6"),
    *("cidrv4", "e164", "date", "time", "datetime", "offset", "local", "precision", "regex", "lengths"),
    *("startsWith", "minimum", "step", "array", "nonempty", "bounded", "tuple", "record", "enumRecord"),
    *("partialRecord", "object", "strict", "union", "discriminated", "nullable", "recursive", "json"),
}
"""Types of zod whose schemas are enforced exactly, as formats of answers and for strict tools."""

PARTS = 16
"""The corpus is tested in so many parts: a test for each schema takes longer than its checks."""


@contextmanager
def named(name: str) -> Iterator[None]:
    """Name the schema that a failure is about."""
    try:
        yield
    except Exception as error:
        error.add_note(f"the schema {name}")
        raise


ENFORCED_OF_PYDANTIC = PYDANTIC_TYPES.keys() - {
    *("bytes", "network", "path", "pattern", "secret", "base64", "json", "set", "frozenset"),
    *("multiple", "unanchored", "enum dict", "uuid dict"),
}


@pytest.mark.parametrize("part", range(PARTS))
def test_a_tool_is_accepted_and_has_a_grammar(part: int) -> None:
    for name in list(SCHEMAS)[part::PARTS]:
        with named(name):
            check_acceptance(SCHEMAS[name])


def check_acceptance(schema: dict[str, Any]) -> None:
    function = {"name": "f", "parameters": schema}
    body: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
    ChatRequest.check({**body, "tools": [{"type": "function", "function": function}]})
    MessagesRequest.check({**body, "max_tokens": 5, "tools": [{"name": "f", "input_schema": schema}]})
    form = loosened(schema)
    jsonschema_rs.validator_for(form)
    for syntax in (QWEN3, GEMMA4):
        assert grammar_of_calls([{"function": {"name": "f", "form": form}}], syntax)
    assert loosened(form) == form


@pytest.mark.parametrize("part", range(PARTS))
def test_a_form_has_all_properties_with_their_types(part: int) -> None:
    for name in list(SCHEMAS)[part::PARTS]:
        with named(name):
            check_properties(SCHEMAS[name])


def check_properties(schema: dict[str, Any]) -> None:
    given, kept = schema.get("properties") or {}, loosened(schema).get("properties", {})
    assert {key for key, part in given.items() if part is not False} == kept.keys()
    for key, part in given.items():
        if isinstance(part, dict) and isinstance(part.get("type"), str):
            assert kept[key].get("type", "anyOf") in (part["type"], "anyOf")


def test_a_type_of_zod_is_enforced_exactly() -> None:
    for name, schema in stored("zod.json").items():
        if name.split(", ")[0] not in ENFORCED:
            continue
        if "openapi" in name and ("nullable" in str(schema) or "exclusive" in str(schema)):
            continue  # OpenAPI's 3.0 own keywords
        with named(name):
            value = instance(enforceable(schema))
            jsonschema_rs.validator_for(schema, validate_formats=False).validate(value)


@pytest.mark.parametrize(
    "name", [name for name, _ in pydantic_schemas() if name.split(", ")[0] in ENFORCED_OF_PYDANTIC]
)
def test_a_type_of_pydantic_is_enforced_exactly(name: str) -> None:
    jsonschema_rs.validate(SCHEMAS[name], instance(enforceable(SCHEMAS[name])))


def test_the_schemas_of_all_tools_of_a_server_are_loosened_in_time() -> None:
    started = time.process_time()
    for schema in SCHEMAS.values():
        loosened(schema)
    assert time.process_time() - started < 0.01 * len(SCHEMAS)


def test_the_corpus_has_the_versions_that_it_names() -> None:
    servers = json.loads((HERE / "servers.json").read_text())["servers"]
    collected = stored("mcp.json")
    assert collected.keys() == servers.keys()
    assert all(server["version"] for server in servers.values())
    assert len(collected) >= 16
