"""The tools of a Responses request as the model is offered them, and the choice among them.

A custom tool is offered as a function with one text, and a search for tools that the client runs as a
function `tool_search`; what it finds is offered from then on. Tools of other types are left out: OpenAI's
servers run most of them (`web_search`), and a client that declares one works without it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from api.http.errors import InvalidRequest
from api.http.strict_schema import SchemaMismatch
from api.inference.dialects.custom_input import SCHEMA
from api.inference.dialects.ignored_tools import other_types
from api.inference.dialects.output_format import tool_of
from api.inference.dialects.tool_choice import check_tool_choice
from api.inference.dialects.tool_names import (
    TOOL_SEARCH,
    DeclaredTool,
    ToolNames,
    declared_tools,
    offered_kind,
)
from api.inference.responses.tools_schema import check_tools
from generation.generation import NamedTool, Tool, ToolChoice

Json = Mapping[str, Any]


ADDS_TOOLS = ("additional_tools", "tool_search_output")
"""The types of items with tools that the model is offered besides those of `tools`."""


def declared_in(body: Json) -> list[Json]:
    """The tools of a request: those of its field, and those that its input adds. Raises `InvalidRequest`."""
    declared = list(body.get("tools") or ())
    given = body.get("input")
    if isinstance(given, list):
        added = [tool for item in given if item.get("type") in ADDS_TOOLS for tool in item.get("tools") or ()]
        if added:
            declared += added
            try:
                check_tools(declared)
            except SchemaMismatch as error:
                raise InvalidRequest(
                    f"the tools of the input, with tools, {error.message}", param="input"
                ) from error
    return declared


def offered_tools(given: Sequence[Json], names: ToolNames) -> tuple[Tool, ...]:
    """The tools as functions."""
    about = {raw["name"]: raw.get("description") for raw in given if raw["type"] == "namespace"}
    tools: dict[str, Tool] = {}
    for tool, raw in declared_tools(given):
        name = names.offered(tool)
        if name in tools:
            continue  # several searches have found it
        description = raw.get("description")
        if tool.namespace is not None and (of_all := about.pop(tool.namespace, None)):
            # once is enough: the model reads all tools
            description = "\n\n".join(filter(None, (description, f"{tool.namespace}: {of_all}")))
        tools[name] = _offered(name, description, raw)
    return tuple(tools.values())


def _offered(name: str, description: str | None, raw: Json) -> Tool:
    if raw["type"] != "custom":
        return tool_of(name, description, raw.get("parameters"), strict=raw.get("strict"))
    form = raw.get("format") or {}
    if form.get("type") == "grammar":
        grammar = f"The input fits this grammar ({form['syntax']}):\n{form['definition']}"
        description = "\n\n".join(filter(None, (description, grammar)))
    return Tool(name, description, SCHEMA)


def ignored_types(given: Sequence[Json]) -> tuple[str, ...]:
    """The types of the tools that are left out, also of those in namespaces, each once."""
    single = [tool for raw in given for tool in (raw["tools"] if raw["type"] == "namespace" else (raw,))]
    return other_types(single, [raw for _, raw in declared_tools(given)])


def tools_echo(given: Sequence[Json]) -> list[dict[str, Any]]:
    """The tools of a Response object: those that the model was offered, with the fields that each has."""
    offered = (raw for raw in given if raw["type"] == "namespace" or offered_kind(raw) is not None)
    echoed = (_ECHOES[raw["type"]](raw) for raw in offered)
    return [echo for echo in echoed if echo.get("tools") != []]


def _function_echo(raw: Json) -> dict[str, Any]:
    fields = ("description", "parameters", "strict")
    return {"type": "function", "name": raw["name"], **{key: raw.get(key) for key in fields}}


def _custom_echo(raw: Json) -> dict[str, Any]:
    echo = {"type": "custom", "name": raw["name"]}
    if raw.get("description") is not None:
        echo["description"] = raw["description"]
    if (form := raw.get("format")) is not None and form["type"] in ("text", "grammar"):
        echo["format"] = form
    return echo


def _namespace_echo(raw: Json) -> dict[str, Any]:
    return {
        "type": "namespace",
        "name": raw["name"],
        "description": raw.get("description") or raw["name"],
        "tools": tools_echo(raw["tools"]),
    }


def _search_echo(raw: Json) -> dict[str, Any]:
    fields = ("execution", "description", "parameters")
    return {"type": TOOL_SEARCH, **{key: raw.get(key) for key in fields}}


_ECHOES = {
    "function": _function_echo,
    "custom": _custom_echo,
    "namespace": _namespace_echo,
    TOOL_SEARCH: _search_echo,
}


def chosen_tools(
    raw: str | Json | None, tools: tuple[Tool, ...], names: ToolNames
) -> tuple[ToolChoice, tuple[Tool, ...]]:
    """The choice of `tool_choice`, and the tools that it leaves. Raises `InvalidRequest`."""
    if raw is None or isinstance(raw, str):
        choice: ToolChoice = "auto" if raw is None else raw  # type: ignore[assignment]  # a mode, by the schema
        return check_tool_choice(choice, tools), tools
    known = {tool.name for tool in tools}
    if raw["type"] == "allowed_tools":
        allowed = {name for entry in raw["tools"] for name in _allowed(entry, tools, names)}
        tools = tuple(tool for tool in tools if tool.name in allowed)
        return check_tool_choice(raw["mode"], tools), tools
    return check_tool_choice(NamedTool(_named(raw, known, names)), tools), tools


def _allowed(entry: Json, tools: Sequence[Tool], names: ToolNames) -> Iterator[str]:
    """The names of the tools that an entry of `allowed_tools` allows."""
    known = {tool.name for tool in tools}
    if entry["type"] == "namespace":
        found = [name for name in known if names.declared(name).namespace == entry["name"]]
        if not found:
            raise _not_among(entry["name"])
        yield from found
    elif entry["type"] in ("function", "custom"):
        yield _named(entry, known, names)


def _named(raw: Json, known: set[str], names: ToolNames) -> str:
    """The name under which the model is offered the tool that a choice names. Raises `InvalidRequest`."""
    name = names.offered(DeclaredTool(raw["name"], raw.get("namespace"), raw["type"]))
    if name not in known and raw.get("namespace") is None:
        name = names.offered(names.declared(raw["name"]))
    if name not in known:
        raise _not_among(raw["name"])
    return name


def _not_among(name: str) -> InvalidRequest:
    return InvalidRequest(f"tool_choice names {name}, which is not among the tools", param="tool_choice")
