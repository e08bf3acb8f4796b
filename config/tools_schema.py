"""The schema of the section `tools`: what is enabled, its limits, and MCP servers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from marshmallow import ValidationError, fields, validates_schema

from backends.declaration import FORMATS, VARIABLE_NAME
from config.fields import (
    AddressField,
    NamedEntries,
    Section,
    StrictField,
    integer,
    matching,
    number,
    text,
    texts,
    texts_by_name,
)
from config.settings import ALL, TOOL_NAMES, McpServer, ToolSettings

SERVER_NAME = r"[A-Za-z0-9][A-Za-z0-9-]{0,31}"
"""Without `_`, which separates it from the name of a tool: two servers never have a tool of one name."""

URL = r"https?://(\[[0-9A-Fa-f:.]+\]|[0-9A-Za-z_.-]+)(:[0-9]{1,5})?(/[!-~]*)?"
MAX_SERVERS = 32
ONLY_WITH = {
    "command": {"args", "env", "pass_env", "cwd", "max_memory_mib"},
    "url": {"secret_variable"},
}


class McpServerSchema(Section):
    """One of `tools.mcp_servers`."""

    command = text()
    args = texts()
    env = texts_by_name(
        "an object of texts by names of variables", FORMATS[VARIABLE_NAME], r"[^\0]*", most=64, secret=True
    )
    pass_env = texts()
    cwd = matching(r"/[^\0]*", "an absolute path")
    max_memory_mib = integer(64, 1_048_576)
    url = AddressField(URL, "an http or https URL of visible characters, without a user")
    secret_variable = matching(FORMATS[VARIABLE_NAME], "a string like MCP_TOKEN", secret=True)
    timeout_ms = integer(100, 600_000)
    tenants = texts()

    @validates_schema
    def _is_one_kind(self, data: dict[str, Any], **_: object) -> None:
        if ("command" in data) == ("url" in data):
            raise ValidationError("needs a command (a program) or a url (a server), and not both")
        kind = "url" if "url" in data else "command"
        if wrong := sorted(ONLY_WITH["command" if kind == "url" else "url"] & {*data}):
            raise ValidationError({name: [f"does not belong to a server with a {kind}"] for name in wrong})


def _read_server(_name: str, raw: Mapping[str, Any]) -> object:
    return McpServerSchema().load(raw)


class ToolsSchema(Section):
    """`tools`."""

    enabled = StrictField(
        f"a list of {', '.join(TOOL_NAMES)}, or of {ALL}",
        lambda value: isinstance(value, list) and {*map(str, value)} <= {*TOOL_NAMES, ALL},
        convert=tuple,
    )
    write = texts()
    directory = matching(r"/[^\0]*", "an absolute path", nullable=True)
    max_bytes_per_tenant = integer(1, 2**53)
    max_files_per_tenant = integer(1, 100_000)
    max_file_bytes = integer(1, 67_108_864)
    time_limit_s = number(0.1, 600)
    max_result_bytes = integer(1024, 1_048_576)
    mcp_servers: fields.Field[Any] = NamedEntries("MCP server", SERVER_NAME, _read_server)

    @validates_schema
    def _servers_are_few(self, data: dict[str, Any], **_: object) -> None:
        if len(data.get("mcp_servers", ())) > MAX_SERVERS:
            raise ValidationError({"mcp_servers": [f"has more than {MAX_SERVERS} entries"]})


def tool_settings(values: Mapping[str, Any]) -> ToolSettings:
    """The settings of validated values."""
    servers = {name: McpServer(**server) for name, server in values.get("mcp_servers", {}).items()}
    return ToolSettings(**{**values, "mcp_servers": servers})
