"""Removes from the JSON Schemas of required tools what vLLM's grammar compiler, xgrammar, compiles slowly.

It computes in advance which tokens fit at each character of a string with a pattern or a length, and at each
character of an object's names if the object may have further ones. For a vocabulary of 100,000 tokens that
takes 17 ms a character, so that twenty properties with lengths of 200 take a minute; few threads compile the
grammars of all requests, and no deadline ends them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from backends.base import GenerationError
from backends.shared.engine.recursion import DATA_KEYWORDS, MAP_KEYWORDS
from generation.schemas.loose_schema import loosened
from generation.schemas.schema_pattern import positions_of

MAX_CHARACTERS = 128
"""Characters of all strings and names of a request that are counted; further patterns and lengths are left
out, and further objects have only the names that are listed, as without `additionalProperties`."""

STRICT_PARSERS = frozenset(
    {"hermes", "qwen3_json", "llama3_json", "llama4_json", "deepseek_v31", "kimi_k2", "openai"}
)
"""vLLM's tool parsers for arguments in JSON whose calls it has in its grammars (`structural_tag_model`)."""

LENGTH_KEYWORDS = ("minLength", "maxLength")


def bounded_schemas(functions: Iterable[Mapping[str, Any]]) -> list[Any]:
    """The parameters of all functions of a request, bounded.

    They allow every value that they allowed, except further properties of an object with many names.
    """
    bounds = _Bounds()
    return [bounds.schema(loosened(function["parameters"])) for function in functions]


def check_compilable(body: Mapping[str, Any], tool_parser: str | None) -> None:
    """Check the schemas that the answer has to fit exactly: those of its format and of strict tools.

    Raises `GenerationError` if one of them would take long to compile, or if vLLM does not constrain the
    calls that this parser reads.
    """
    named = [
        (f"the strict tool {tool['function']['name']}", tool["function"]["parameters"])
        for tool in body.get("tools", ())
        if tool["function"].get("strict")
    ]
    if named and tool_parser not in STRICT_PARSERS:
        sentence = (
            f"the tool parser of this model ({tool_parser or 'none'}) cannot make arguments fit a schema"
        )
        raise GenerationError("invalid_prompt", sentence)
    if schema := body.get("response_format", {}).get("json_schema", {}).get("schema"):
        named.append(("the format", schema))
    bounds = _Bounds()
    for name, schema in named:
        if bounds.schema(schema) != schema:
            sentence = (
                f"the schema of {name} has more than {MAX_CHARACTERS} characters in its lengths and patterns"
            )
            raise GenerationError(
                "invalid_prompt", f"{sentence}, which takes this engine too long to compile"
            )


class _Bounds:
    """The characters that are left for the strings of one request."""

    def __init__(self) -> None:
        self._left = MAX_CHARACTERS

    def schema(self, schema: Any) -> Any:
        """A schema, or a list of them, bounded."""
        if isinstance(schema, list):
            return [self.schema(item) for item in schema]
        if not isinstance(schema, Mapping):
            return schema
        removed = self._removed(schema)
        found = {key: self._converted(key, value) for key, value in schema.items() if key not in removed}
        is_open = found.get("additionalProperties", False) is not False
        if is_open and not self._takes(_characters(schema.get("properties"))):
            found["additionalProperties"] = False
        return found

    def _removed(self, schema: Mapping[str, Any]) -> set[str]:
        """The keywords that the grammar cannot have."""
        removed: set[str] = set()
        if not self._takes(max((_count(schema.get(name)) for name in LENGTH_KEYWORDS), default=0)):
            removed |= set(LENGTH_KEYWORDS)
        pattern = schema.get("pattern")
        if isinstance(pattern, str) and not self._takes(positions_of(pattern)):
            removed.add("pattern")
        return removed

    def _takes(self, characters: int | None) -> bool:
        if characters is None or characters > self._left:
            return False
        self._left -= characters
        return True

    def _converted(self, key: str, value: Any) -> Any:
        if key in DATA_KEYWORDS:
            return value
        if key in MAP_KEYWORDS and isinstance(value, Mapping):
            return {name: self.schema(item) for name, item in value.items()}
        return self.schema(value)


def _characters(names: Any) -> int:
    """The characters of names, those of a common beginning once."""
    if not isinstance(names, Mapping):
        return 0
    beginnings: set[str] = set()
    for name in names:
        text = json.dumps(name)[1:-1]
        beginnings |= {text[:length] for length in range(1, len(text) + 1)}
    return len(beginnings)


def _count(value: Any) -> int:
    return value if isinstance(value, int) else 0
