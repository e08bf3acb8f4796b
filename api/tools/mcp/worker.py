"""The program of the process that talks to one MCP server, with the client of the official package `mcp`.

It reads and writes lines of JSON, on the descriptors in its arguments:

- The first line has its options: `name`, `command`, `args`, `env`, `cwd`, `max_memory_mib`, or `url`,
  `token`; `max_result_bytes`. It answers `{"ready": true}` or `{"failed": text}`.
- `{"id", "list": seconds}` and `{"id", "call": name, "arguments", "timeout_s"}` are answered, in any order,
  by `{"id", "tools"}`, `{"id", "text", "is_error"}` or `{"id", "error"}`. Each has `gone`: whether it
  ends now. `{"cancel": id}` ends one without an answer.

It ends with its server, and with its parent. What the server sends is read here and nowhere else: it may be
endless, or as large as this process may be.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import resource
import signal
import sys
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

MAX_TOOLS = 128
MAX_PAGES = 16
MAX_SCHEMA_BYTES = 32 * 1024
MAX_LIST_BYTES = 1024 * 1024
MAX_DESCRIPTION = 4096
MAX_LINE = 16 * 1024 * 1024
MEMORY_BYTES = 128 * 1024 * 1024
"""RLIMIT_DATA of this process; without work it needs about 55 MiB."""

NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
"""The names of functions that models get."""

CHECK_S = 5.0
"""How long a server that has missed a time limit may take to list its tools; otherwise it is restarted."""

LAST_WORDS_S = 0.2
GONE = (-32000, -32600)
"""The codes of errors for a connection that has ended, and for a session that the server does not know."""


def limit(memory_bytes: int) -> None:
    """Bound the memory of this process, or of those that it starts next."""
    resource.setrlimit(resource.RLIMIT_DATA, (memory_bytes, resource.RLIM_INFINITY))


class ServerClient:
    """The client of the server, and the answers to the parent."""

    def __init__(self, client: Any, options: Mapping[str, Any], answers: int) -> None:
        self._client = client
        self._options = options
        self._answers = answers
        self._tasks: dict[int, asyncio.Task[None]] = {}

    def answer(self, message: Mapping[str, Any]) -> None:
        """Write a line. It blocks while the parent does not read."""
        data = memoryview(json.dumps(message).encode() + b"\n")
        while data:
            data = data[os.write(self._answers, data) :]

    def receive(self, request: Mapping[str, Any]) -> None:
        """Begin to answer a request, or end one."""
        if "cancel" in request:
            if (task := self._tasks.get(request["cancel"])) is not None:
                task.cancel()
            return
        number = request["id"]
        task = self._tasks[number] = asyncio.ensure_future(self._handle(request))
        task.add_done_callback(lambda _: self._tasks.pop(number))

    async def _handle(self, request: Mapping[str, Any]) -> None:
        """Answer one request."""
        from mcp import MCPError  # noqa: PLC0415 - it was imported before the limits

        gone = False
        answer: dict[str, Any]
        try:
            if "list" in request:
                async with asyncio.timeout(request["list"]):
                    answer = {"tools": await self._tools()}
            else:
                answer = await self._call(request)
        except MCPError as error:
            answer, gone = {"error": error.message[:500]}, error.code in GONE
        except TimeoutError:
            answer = {"error": "the time limit is reached", "timed_out": True}
        except Exception as error:
            print(f"{type(error).__name__}: {error}", file=sys.stderr)
            answer, gone = {"error": "the server's answer cannot be used"}, True
        self.answer({"id": request["id"], **answer, "gone": gone})
        # one that does not list its tools in time may be busy with a call
        has_missed = "timed_out" in answer and "call" in request
        if gone or (has_missed and not await self._is_alive()):
            os._exit(1)

    async def _call(self, request: Mapping[str, Any]) -> dict[str, Any]:
        async with asyncio.timeout(request["timeout_s"]):
            result = await self._client.call_tool(request["call"], request["arguments"])
        text = "\n".join(_text_of(part) for part in result.content)
        most, data = self._options["max_result_bytes"], text.encode("utf-8", "replace")
        if len(data) > most:
            text = data[:most].decode("utf-8", "ignore")
            text += f"\n[output truncated: {most} of {len(data)} bytes]"
        return {"text": text, "is_error": bool(result.is_error)}

    async def _is_alive(self) -> bool:
        with suppress(Exception):
            async with asyncio.timeout(CHECK_S):
                await self._client.list_tools(cache_mode="bypass")
            return True
        return False

    async def _tools(self) -> list[dict[str, Any]]:
        """The first tools of the server with names and schemas that a model can get."""
        tools: list[dict[str, Any]] = []
        cursor, used = None, 0
        for _ in range(MAX_PAGES):
            page = await self._client.list_tools(cursor=cursor, cache_mode="bypass")
            for tool in page.tools:
                schema = tool.input_schema
                size = len(json.dumps(schema))
                is_usable = (
                    NAME.fullmatch(f"{self._options['name']}_{tool.name}") and size <= MAX_SCHEMA_BYTES
                )
                if not is_usable or len(tools) == MAX_TOOLS or used + size > MAX_LIST_BYTES:
                    print(f"a tool is left out: {tool.name[:80]!r}", file=sys.stderr)
                    if len(tools) == MAX_TOOLS:
                        return tools
                    continue
                used += size
                about = (tool.description or tool.title or "")[:MAX_DESCRIPTION]
                tools.append({"name": tool.name, "description": about, "schema": schema})
            cursor = page.next_cursor
            if cursor is None:
                break
        return tools


def _text_of(part: Any) -> str:
    """The text of a part of a result; what else there may be is named."""
    text = getattr(part, "text", None)
    if isinstance(text, str):
        return text
    resource = getattr(part, "resource", None)
    if isinstance(inner := getattr(resource, "text", None), str):
        return inner
    kind = getattr(part, "mime_type", None) or getattr(part, "uri", "")
    return f"[{part.type} left out: {str(kind)[:200]}]"


def _server_of(options: Mapping[str, Any]) -> Any:
    """What the client connects to."""
    if options["url"] is None:
        from mcp import StdioServerParameters  # noqa: PLC0415

        names = ("command", "args", "env", "cwd")
        return StdioServerParameters(**{name: options[name] for name in names})
    import httpx2  # noqa: PLC0415
    from mcp.client.streamable_http import streamable_http_client  # noqa: PLC0415

    headers = {} if options["token"] is None else {"Authorization": f"Bearer {options['token']}"}
    # no proxy of the environment
    client = httpx2.AsyncClient(headers=headers, timeout=httpx2.Timeout(30, read=600), trust_env=False)
    return streamable_http_client(options["url"], http_client=client)


async def serve(requests: int, answers: int) -> None:
    """Connect to the server, and answer requests until the parent closes its end."""
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=MAX_LINE)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(requests, "rb"))
    options = json.loads(await reader.readline())
    failed = ServerClient(None, options, answers)
    try:
        from mcp import Client  # noqa: PLC0415

        server = _server_of(options)
    except ImportError as error:
        print(error, file=sys.stderr)
        return failed.answer({"failed": "the package mcp cannot be imported: pip install 'stoker[mcp]'"})
    limit(options["max_memory_mib"] * 1024 * 1024)
    try:
        async with Client(server) as client:
            limit(MEMORY_BYTES)
            # a program that has ended: first its last answers are read
            loop.add_signal_handler(signal.SIGCHLD, lambda: loop.call_later(LAST_WORDS_S, os._exit, 1))
            session = ServerClient(client, options, answers)
            session.answer({"ready": True})
            while line := await reader.readline():
                session.receive(json.loads(line))
            os._exit(0)  # the guard ends what it has started
    except (Exception, BaseExceptionGroup) as error:
        failed.answer({"failed": _sentence(options, error)})


def _sentence(options: Mapping[str, Any], error: BaseException) -> str:
    """Why the server cannot be used."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    print(f"{type(error).__name__}: {error}", file=sys.stderr)
    if isinstance(error, FileNotFoundError):
        return f"the command {options['command']} (or its folder) does not exist"
    if isinstance(error, PermissionError):
        return f"the command {options['command']} may not be run"
    if options["url"] is not None:
        return f"there is no MCP server at its url ({type(error).__name__}: {str(error)[:200]})"
    return f"its program does not speak MCP ({type(error).__name__}: {str(error)[:200]})"


def main(arguments: list[str]) -> None:
    """Run the program: the descriptors of the requests and of the answers."""
    os.nice(5)
    asyncio.run(serve(int(arguments[0]), int(arguments[1])))


if __name__ == "__main__":
    main(sys.argv[1:])
