"""The MCP servers of the configuration."""

from __future__ import annotations

import asyncio
import importlib.util
import logging
import os
import shutil
from typing import Any

from api.tools.mcp.connection import McpConnection, Unavailable
from config.settings import McpServer, Settings

INSTALL = "pip install 'stoker[mcp]'"
FOLDER = "mcp"
LIST_WAIT_S = 10.0
"""How long a list of tools waits for a server, whose start goes on meanwhile."""

log = logging.getLogger(__name__)


class McpServers:
    """All servers, by name. For the event loop's thread only, except `check` and `stop`."""

    def __init__(self, settings: Settings) -> None:
        self._connections = {
            name: McpConnection(
                name, server, settings.data_dir / FOLDER / name, settings.tools.max_result_bytes
            )
            for name, server in settings.tools.mcp_servers.items()
        }

    def check(self) -> None:
        """Log one sentence for each server that the configuration alone shows to be unusable."""
        if self._connections and importlib.util.find_spec("mcp") is None:
            log.error("tools.mcp_servers needs the package mcp: %s", INSTALL)
            return
        for name, connection in self._connections.items():
            for problem in problems(connection.server):
                log.error("tools.mcp_servers.%s: %s", name, problem)

    async def tools(self, tenant: str) -> list[dict[str, Any]]:
        """The tools of all servers that the tenant may use, as `GET /tools` has them, by server."""
        usable = [one for one in self._connections.values() if one.serves(tenant)]
        waiting = (asyncio.wait_for(one.tools(), LIST_WAIT_S) for one in usable)
        listed = await asyncio.gather(*waiting, return_exceptions=True)
        described = []
        for connection, tools in zip(usable, listed, strict=True):
            if isinstance(tools, list):
                described += [_described(connection.name, tool) for tool in tools]
            elif not isinstance(tools, (Unavailable, TimeoutError)):
                raise tools
        return described

    async def call(self, tenant: str, name: str, params: dict[str, Any]) -> dict[str, Any] | None:
        """The result of a call of `<server>_<tool>`; None for an unknown tool. Raises `ApiError`."""
        server, _, tool = name.partition("_")
        connection = self._connections.get(server)
        if connection is None or not connection.serves(tenant):
            return None
        try:
            if all(tool != one["name"] for one in await connection.tools()):
                return None
            return await connection.call(tenant, tool, params)
        except Unavailable:
            return {"error": f"MCP server unavailable: {server}"}

    def stop(self) -> None:
        """Stop all servers that this process has started."""
        for connection in self._connections.values():
            connection.stop()


def problems(server: McpServer) -> list[str]:
    """What is wrong with a server's settings on this host."""
    found = []
    if server.command is not None and shutil.which(server.command) is None:
        found.append(f"the command {server.command} does not exist or cannot be run")
    for variable in (*server.pass_env, *([server.secret_variable] if server.secret_variable else [])):
        if variable not in os.environ:
            found.append(f"the environment variable {variable} is not set")
    return found


def _described(server: str, tool: dict[str, Any]) -> dict[str, Any]:
    name = f"{server}_{tool['name']}"
    function = {"name": name, "description": tool["description"], "parameters": tool["schema"]}
    return {
        "display_name": name,
        "tool": name,
        "type": "mcp",
        "permissions": {"write": False},
        "uses_cwd": False,
        "definition": {"type": "function", "function": function},
    }
