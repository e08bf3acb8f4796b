"""The built-in tools as clients see them, by llama-server's names, and the check of their arguments."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from api.http.errors import InvalidRequest
from config.settings import WRITE_TOOLS

MAX_EDITS = 1000
MAX_INTEGER = 2**31 - 1
MAX_FORMAT, MAX_TIME = 128, 256
ISO_8601 = "%Y-%m-%dT%H:%M:%SZ"

_TYPES: Mapping[str, type[Any]] = {"string": str, "integer": int, "boolean": bool, "array": list}


@dataclass(frozen=True)
class BuiltinTool:
    """A tool with the JSON Schemas of its arguments, by name."""

    name: str
    display_name: str
    description: str
    properties: Mapping[str, Mapping[str, Any]]
    required: tuple[str, ...] = ()

    @property
    def writes(self) -> bool:
        """Whether it changes files."""
        return self.name in WRITE_TOOLS

    def described(self) -> dict[str, Any]:
        """The tool as `GET /tools` has it."""
        schema = {"type": "object", "properties": self.properties, "required": list(self.required)}
        function = {"name": self.name, "description": self.description, "parameters": schema}
        return {
            "display_name": self.display_name,
            "tool": self.name,
            "type": "builtin",
            "permissions": {"write": self.writes},
            "uses_cwd": "path" in self.properties,
            "definition": {"type": "function", "function": function},
        }

    def arguments(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """The known ones of the arguments. Raises `InvalidRequest`."""
        for name in self.required:
            if params.get(name) is None:
                raise InvalidRequest(f"params.{name} is required", param=f"params.{name}")
        known = {name: params[name] for name in self.properties if params.get(name) is not None}
        for name, value in known.items():
            _check(self.properties[name], value, f"params.{name}")
        return known


def _check(schema: Mapping[str, Any], value: Any, path: str) -> None:
    kind = schema["type"]
    is_of_type = type(value) is _TYPES[kind]
    if not is_of_type or (kind == "integer" and not -MAX_INTEGER <= value <= MAX_INTEGER):
        raise InvalidRequest(f"{path} must be of the type {kind}", param=path)
    if kind == "array":
        if not 0 < len(value) <= MAX_EDITS:
            raise InvalidRequest(f"{path} must have 1 to {MAX_EDITS} items", param=path)
        for index, item in enumerate(value):
            for name, below in schema["items"]["properties"].items():
                found = item.get(name) if isinstance(item, dict) else None
                _check(below, found, f"{path}[{index}].{name}")


def current_time(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The result of `get_datetime`."""
    chosen = arguments.get("format", ISO_8601)
    text = ""
    if len(chosen) <= MAX_FORMAT:
        try:
            text = time.strftime(chosen, time.gmtime())
        except ValueError:
            text = ""
    if not 0 < len(text) <= MAX_TIME:
        return {"error": "invalid format string"}
    return {"result": text}


def _text(about: str) -> dict[str, str]:
    return {"type": "string", "description": about}


def _integer(about: str) -> dict[str, str]:
    return {"type": "integer", "description": about}


def _flag(about: str) -> dict[str, str]:
    return {"type": "boolean", "description": about}


_PATTERN = "A pattern without '/' is for names, one with '/' for paths; '**' stands for any folders."
_EDIT = {
    "type": "object",
    "properties": {
        "old_text": _text("The exact text to replace. It must occur once in the file."),
        "new_text": _text("The text that replaces it."),
    },
    "required": ["old_text", "new_text"],
}

BUILTIN_TOOLS: Mapping[str, BuiltinTool] = {
    tool.name: tool
    for tool in (
        BuiltinTool(
            "get_datetime",
            "Get date & time",
            "Return the current date and time in UTC.",
            {"format": _text(f"A format of strftime. Default: {ISO_8601}")},
        ),
        BuiltinTool(
            "read_file",
            "Read file",
            "Read a text file, or a range of its lines.",
            {
                "path": _text("The path of the file."),
                "start_line": _integer("The first line, from 1. Default: 1"),
                "end_line": _integer("The last line, included. Default: the end of the file"),
                "append_loc": _flag("Put the number of each line before it."),
            },
            ("path",),
        ),
        BuiltinTool(
            "file_glob_search",
            "File search",
            f"Find files below a folder by a glob pattern. {_PATTERN} "
            "Folders such as .git, node_modules and build are not searched.",
            {
                "path": _text("The folder to search in."),
                "include": _text("The pattern of files to find, such as *.py or src/**/*.py. Default: **"),
                "exclude": _text("The pattern of files to leave out."),
                "type": _text('What to find: "file" (default), "dir" or "all".'),
                "max_depth": _integer("1: only what is directly in the folder. Default: 0, any depth"),
                "limit": _integer("The most results. Default and maximum: 100"),
            },
            ("path",),
        ),
        BuiltinTool(
            "grep_search",
            "Grep search",
            f"Find the lines of files that match a pattern. {_PATTERN} "
            "Folders such as .git, node_modules and build are not searched.",
            {
                "path": _text("The file or folder to search in."),
                "pattern": _text("A regular expression."),
                "include": _text("The glob pattern of files to search. Default: **"),
                "exclude": _text("The glob pattern of files to leave out."),
                "return_line_numbers": _flag("Give the numbers of lines."),
                "literal": _flag("Take the pattern as a text, not as a regular expression."),
                "ignore_case": _flag("Take upper and lower case as equal."),
                "context_lines": _integer("How many lines to give before and after each match. Default: 0"),
            },
            ("path", "pattern"),
        ),
        BuiltinTool(
            "write_file",
            "Write file",
            "Write a file, which is created with its folders or replaced. edit_file is for small changes.",
            {"path": _text("The path of the file."), "content": _text("The text to write.")},
            ("path", "content"),
        ),
        BuiltinTool(
            "edit_file",
            "Edit file",
            "Replace exact texts in a file. Each edits[].old_text must occur once in the original file, and "
            "edits must not overlap: merge those that are near each other.",
            {
                "path": _text("The path of the file."),
                "edits": {"type": "array", "description": "The replacements.", "items": _EDIT},
            },
            ("path", "edits"),
        ),
    )
}
