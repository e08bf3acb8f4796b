"""An MCP server made with the official package, with tools that crash, hang and flood.

`python mcp_server.py KIND stdio` speaks over its pipes, `python mcp_server.py KIND http PORT` listens. KIND
is `good`, or `many`: 10,000 tools.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from pathlib import Path

from mcp.server.mcpserver import MCPServer
from mcp.types import Tool


class Server(MCPServer):
    """A server that has 10,000 tools if its kind is `many`."""

    has_many = False

    async def list_tools(self) -> list[Tool]:
        if not self.has_many:
            return await super().list_tools()
        schema = {"type": "object", "properties": {}}
        return [Tool(name=f"tool{number}", input_schema=schema) for number in range(10_000)]


server = Server("test")


@server.tool()
def echo(message: str) -> str:
    """Return the message."""
    return message


@server.tool()
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool()
def variables() -> str:
    """List the environment variables, the pid and the working directory."""
    return f"{sorted(os.environ)} {os.getpid()} {Path.cwd()}"


@server.tool()
def fail() -> str:
    """Raise an error."""
    raise ValueError("it has failed")


@server.tool()
def crash() -> str:
    """End the process."""
    os._exit(3)


hanging: list[str] = []


@server.tool()
async def hang() -> str:
    """Take an hour, unless it is cancelled."""
    hanging.append("a call")
    try:
        await asyncio.sleep(3600)
    finally:
        hanging.pop()
    return ""


@server.tool()
def running() -> str:
    """Count the calls that hang."""
    return f"hanging: {len(hanging)}"


@server.tool()
def block(path: str) -> str:
    """Write a file, and hold up the whole server: it reads nothing more."""
    Path(path).write_text(str(os.getpid()))
    time.sleep(3600)
    return ""


@server.tool()
def flood() -> str:
    """Send notifications for ever."""
    params = b'{"level":"info","data":"x"}'
    while True:
        os.write(1, b'{"jsonrpc":"2.0","method":"notifications/message","params":%s}\n' % params * 100)


@server.tool()
def large(size: int) -> str:
    """Return so many bytes."""
    return "x" * size


def main(arguments: list[str]) -> None:
    kind, transport, *port = arguments
    server.has_many = kind == "many"
    if transport == "stdio":
        server.run("stdio")
    else:
        server.run("streamable-http", host="127.0.0.1", port=int(port[0]))


if __name__ == "__main__":
    main(sys.argv[1:])
