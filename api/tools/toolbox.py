"""The tools of a caller: which it has, and the result of a call."""

from __future__ import annotations

from typing import Any

from api.http.errors import Forbidden, InvalidRequest, NotFound
from api.http.llama_server_errors import FEATURE_DISABLED
from api.tools.builtin_tools import BUILTIN_TOOLS, BuiltinTool, current_time
from api.tools.files.file_tools import FileTools
from api.tools.mcp.servers import McpServers
from config.settings import ALL, Settings


class Toolbox:
    """The built-in tools that are enabled, and those of MCP servers. For the event loop's thread only."""

    def __init__(self, settings: Settings, servers: McpServers) -> None:
        tools = settings.tools
        self._enabled = [tool for tool in BUILTIN_TOOLS.values() if {tool.name, ALL} & {*tools.enabled}]
        self._writers = frozenset(tools.write)
        self._files = FileTools(settings)
        self._servers = servers
        self._is_on = bool(tools.enabled or tools.mcp_servers)

    def check_enabled(self) -> None:
        """Raise `Forbidden` (feature_disabled) if the platform has no tools."""
        if not self._is_on:
            raise disabled()

    async def tools(self, tenant: str) -> list[dict[str, Any]]:
        """The tools that the tenant may call."""
        listed = [tool.described() for tool in self._enabled if self._may_use(tool, tenant)]
        names = {tool["tool"] for tool in listed}
        return listed + [tool for tool in await self._servers.tools(tenant) if tool["tool"] not in names]

    async def call(
        self, tenant: str, name: str, params: dict[str, Any], *, cwd: str = "", response_type: str = ""
    ) -> dict[str, Any]:
        """The result of a call.

        `cwd` is where the paths of built-in tools start, `response_type` the form that `read_file` answers
        in. Raises `NotFound`, `Forbidden` (tool_not_allowed), `InvalidRequest` and `ApiError`
        (too_many_tool_calls).
        """
        tool = next((tool for tool in self._enabled if tool.name == name), None)
        if tool is None:
            result = await self._servers.call(tenant, name, params)
            if result is None:
                raise NotFound(f'unknown tool "{name}"', param="tool")
            return result
        if not self._may_use(tool, tenant):
            raise Forbidden(
                f'the setting tools.write does not allow the tool "{name}" to this tenant',
                code="tool_not_allowed",
                param="tool",
            )
        arguments = tool.arguments(params)
        if name == "get_datetime":
            return current_time(arguments)
        if name == "read_file" and response_type:
            if response_type != "base64":
                raise InvalidRequest("x-resp-type must be base64", param="x-resp-type")
            arguments["resp_type"] = response_type
        return await self._files.call(tenant, name, arguments, cwd)

    def _may_use(self, tool: BuiltinTool, tenant: str) -> bool:
        return not tool.writes or bool({tenant, ALL} & self._writers)


def disabled() -> Forbidden:
    """The error of what this platform has not enabled."""
    return Forbidden("this feature is disabled", code=FEATURE_DISABLED)
