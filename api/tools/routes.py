"""/tools: the tools that the platform runs for clients, as in llama-server; /cors-proxy, which is refused."""

from __future__ import annotations

from typing import Any

from flask import Response, request

from api.access.caller import current_caller
from api.http.answers import send_error, send_json
from api.http.detached import DetachedResponse
from api.http.error_rendering import llama_server_body
from api.http.errors import InvalidRequest, NotFound
from api.http.llama_server_errors import FEATURE_DISABLED
from api.http.openapi import RouteGroup
from api.http.route_access import Access
from api.http.server.client_connection import ClientConnection
from api.http.server.while_connected import while_connected
from api.services import service
from api.tools.schema import Tool, ToolCall, ToolResult, ToolsError
from api.tools.toolbox import Toolbox, disabled
from store.errors import StokerError

routes = RouteGroup("tools", __name__)

CWD, RESPONSE_TYPE, RUNTIME = "x-tool-cwd", "x-resp-type", "x-tool-runtime"


@routes.endpoint(
    "/tools",
    access=Access.INFERENCE,
    responses={200: Tool(many=True)},
    blocking=False,
    errors=(FEATURE_DISABLED, "too_many_streams"),
    error_body=ToolsError,
)
def list_tools() -> Response:
    """List the tools

    Those that the caller may call. `definition` goes into `tools` of a chat completion as it is.
    """
    service(Toolbox).check_enabled()
    return _list_of_tools()


@routes.endpoint(
    "/v1/tools",
    access=Access.INFERENCE,
    responses={200: Tool(many=True)},
    blocking=False,
    errors=("too_many_streams",),
    error_body=ToolsError,
)
def list_tools_for_pages() -> Response:
    """List the tools, none if they are off

    As `/tools`, for pages of the platform: they ask without knowing whether the platform has tools.
    """
    return _list_of_tools()


def _list_of_tools() -> Response:
    toolbox, tenant = service(Toolbox), current_caller().tenant.name

    async def send_answer(connection: ClientConnection) -> None:
        send_json(connection, await while_connected(connection, toolbox.tools(tenant)))

    return DetachedResponse(send_answer)


@routes.endpoint(
    "/tools",
    "POST",
    access=Access.INFERENCE,
    body=ToolCall,
    examples={"The time": {"tool": "get_datetime", "params": {}}},
    responses={200: ToolResult},
    below_v1=True,
    blocking=False,
    errors=(FEATURE_DISABLED, "tool_not_allowed", "not_found", "too_many_tool_calls", "too_many_streams"),
    error_body=ToolsError,
)
def call_tool(body: dict[str, Any]) -> Response:
    """Call a tool

    `plain_text_response` becomes the content of the message with the role `tool`; of any other answer, its
    JSON does. A tool that has failed answers 200 with `error`.
    """
    toolbox, tenant, headers = service(Toolbox), current_caller().tenant.name, request.headers
    toolbox.check_enabled()
    name = body["tool"]
    if body.get("stream"):
        raise NotFound(f'tool "{name}" does not support stream = true', param="stream")
    if RUNTIME in headers:
        raise InvalidRequest(f"unknown tool runtime: {headers[RUNTIME][:200]}", param=RUNTIME)
    params, cwd = body.get("params") or {}, headers.get(CWD, "")
    # werkzeug decodes headers as Latin-1, and paths are UTF-8
    cwd, response_type = cwd.encode("latin-1").decode("utf-8", "replace"), headers.get(RESPONSE_TYPE, "")

    async def send_answer(connection: ClientConnection) -> None:
        try:
            call = toolbox.call(tenant, name, params, cwd=cwd, response_type=response_type)
            send_json(connection, await while_connected(connection, call))
        except StokerError as error:
            send_error(connection, error, body=llama_server_body)

    return DetachedResponse(send_answer)


@routes.endpoint(
    "/cors-proxy",
    access=Access.INFERENCE,
    responses={},
    blocking=False,
    errors=(FEATURE_DISABLED,),
    error_body=ToolsError,
)
def get_by_proxy() -> Response:
    """Refuse to be a proxy

    llama-server can fetch any address for its page. This platform never does.
    """
    raise disabled()


@routes.endpoint(
    "/cors-proxy",
    "POST",
    access=Access.INFERENCE,
    responses={},
    blocking=False,
    errors=(FEATURE_DISABLED,),
    error_body=ToolsError,
)
def post_by_proxy() -> Response:
    """Refuse to be a proxy, for POST

    As for GET.
    """
    raise disabled()
