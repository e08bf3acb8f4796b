"""The names under which a model is offered the tools of a request, and the tools that its calls name.

A function of a namespace and a custom tool are functions to the model. A function of a namespace has a name
that begins with the namespace's, so that two namespaces may have functions of one name.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, Literal, NamedTuple

MAX_NAME_CHARS = 128
"""The longest name of a function (`message_fields.FUNCTION_NAME`)."""

_HASH_CHARS = 8


TOOL_SEARCH: Final = "tool_search"
"""The type of the tool by which a client lets a model search for tools, and the name of its function."""

ToolKind = Literal["function", "custom", "tool_search"]


class DeclaredTool(NamedTuple):
    """A tool as its client has declared it; without a namespace it stands alone."""

    name: str
    namespace: str | None = None
    kind: ToolKind = "function"


_EQUIVALENT_KINDS: Mapping[str, tuple[ToolKind, ...]] = {
    "function": ("function", "custom"),
    "custom": ("custom", "function"),
}
"""The kinds of a tool that an earlier call may name: a client may have declared it anew."""


class ToolNames:
    """The names of the tools of one request.

    `tools` have the form of the Responses API; those that the model is not offered have no name. The same
    tools have the same names in any process.
    """

    def __init__(self, tools: Iterable[Mapping[str, Any]] = ()) -> None:
        self._offered: dict[DeclaredTool, str] = {}
        self._declared: dict[str, DeclaredTool] = {}
        self._unprefixed: dict[str, DeclaredTool | None] = {}  # None: several namespaces have the name
        declared = [tool for tool, _ in declared_tools(tools)]
        for tool in sorted(declared, key=lambda tool: tool.kind != "function" or tool.namespace is not None):
            if tool not in self._offered:
                self._add(tool)

    def _add(self, tool: DeclaredTool) -> None:
        name = _joined(tool.namespace, tool.name)
        if name in self._declared:
            name = _with_hash(name, tool)
        self._offered[tool], self._declared[name] = name, tool
        if tool.namespace is not None:
            self._unprefixed[tool.name] = None if tool.name in self._unprefixed else tool

    def offered(self, tool: DeclaredTool) -> str:
        """The name that the model knows for a tool, also for one that this request lacks."""
        kinds = _EQUIVALENT_KINDS.get(tool.kind, (tool.kind,))
        known = (self._offered.get(tool._replace(kind=kind)) for kind in kinds)
        return next(filter(None, known), None) or _joined(tool.namespace, tool.name)

    def declared(self, name: str) -> DeclaredTool:
        """The tool that a call names; a function of this name if the request has none.

        Models leave out the namespace at times: the name alone is enough where it is clear.
        """
        return self._declared.get(name) or self._unprefixed.get(name) or DeclaredTool(name)


def declared_tools(
    tools: Iterable[Mapping[str, Any]],
) -> Iterator[tuple[DeclaredTool, Mapping[str, Any]]]:
    """The tools that the model is offered, also those in namespaces, each with its declaration."""
    for raw in tools:
        if raw["type"] == "namespace":
            for inner in raw["tools"]:
                if inner["type"] in ("function", "custom"):
                    yield DeclaredTool(inner["name"], raw["name"], inner["type"]), inner
        elif (kind := offered_kind(raw)) is not None:
            yield DeclaredTool(TOOL_SEARCH if kind == TOOL_SEARCH else raw["name"], None, kind), raw


def offered_kind(raw: Mapping[str, Any]) -> ToolKind | None:
    """The kind of a tool; None if the model is not offered it.

    A search that OpenAI's servers run is left out: the tools that it would find are offered in any case.
    """
    match raw["type"]:
        case "function" | "custom":
            kind: ToolKind = raw["type"]
            return kind
        case "tool_search" if raw.get("execution") == "client":
            return TOOL_SEARCH
    return None


def _joined(namespace: str | None, name: str) -> str:
    if namespace is None:
        return name
    whole = f"{namespace}{name}" if namespace.endswith("__") else f"{namespace}__{name}"
    return whole if len(whole) <= MAX_NAME_CHARS else _with_hash(whole, DeclaredTool(name, namespace))


def _with_hash(name: str, tool: DeclaredTool) -> str:
    """The name with a hash of the tool, within the bound."""
    digest = hashlib.sha256(repr(tuple(tool)).encode()).hexdigest()[:_HASH_CHARS]
    return f"{name[: MAX_NAME_CHARS - _HASH_CHARS - 1]}_{digest}"
