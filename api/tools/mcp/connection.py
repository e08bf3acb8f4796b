"""The connection of an API process to one MCP server: made at the first use, and again after a crash."""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson

from api.http.errors import InvalidRequest
from api.http.fair_semaphore import FairSemaphore, Limit
from api.tools.mcp.worker_process import WorkerEnded, WorkerProcess
from api.tools.turns import too_many_calls
from config.settings import McpServer

MIB = 1024 * 1024
MAX_ARGUMENT_BYTES = MIB
MAX_RUNNING_PER_TENANT, MAX_RUNNING = 4, 16
MAX_REQUESTS_PER_TENANT, MAX_REQUESTS = 16, 256
MAX_BYTES_PER_TENANT, MAX_BYTES = 8 * MIB, 64 * MIB

CONNECT_S = 30.0
LIST_S = 10.0
LIST_TTL_S = 60.0
"""How long a list of tools is used."""

GRACE_S = 3.0
"""How much longer than its limit an answer may take; then the process is busy with what the server sends."""

MAX_DELAY_DOUBLED = 6
"""How often the delay of a start, of a second, is doubled while starts fail."""

MAX_DOUBLED_AFTER_USE = 2
"""The same for a server that has started: a call that crashes it delays those of others by 4 s at most."""

MAX_WAIT_S = 2.0
"""How long a request waits for the next start."""

log = logging.getLogger(__name__)


class Unavailable(Exception):
    """Raised when the server cannot be used now; the text is for the log."""


class McpConnection:
    """One server. For the event loop's thread only, except `stop`."""

    def __init__(self, name: str, server: McpServer, directory: Path, max_result_bytes: int) -> None:
        self.name = name
        self.server = server
        self._directory = directory
        self._max_result_bytes = max_result_bytes
        self._turns = FairSemaphore(
            Limit(MAX_RUNNING_PER_TENANT, MAX_REQUESTS_PER_TENANT, MAX_BYTES_PER_TENANT),
            Limit(MAX_RUNNING, MAX_REQUESTS, MAX_BYTES),
            too_many_calls,
        )
        self._starting: asyncio.Task[WorkerProcess] | None = None
        self._listing: asyncio.Task[list[dict[str, Any]]] | None = None
        self._tools: list[dict[str, Any]] | None = None
        self._listed_at = 0.0
        self._next_start = 0.0
        self._failures = 0
        self._problem = ""

    def serves(self, tenant: str) -> bool:
        """Whether the tenant may use the server."""
        return self.server.tenants is None or tenant in self.server.tenants

    async def tools(self) -> list[dict[str, Any]]:
        """The tools: `name`, `description` and `schema` of each; the last ones of a server without an answer.

        Raises `Unavailable`.
        """
        listing = self._listing
        is_old = time.monotonic() - self._listed_at > LIST_TTL_S
        if listing is None or (listing.done() and (is_old or self._tools is None)):
            self._listed_at = time.monotonic()
            listing = self._listing = asyncio.ensure_future(self._list())
            listing.add_done_callback(_look_at_error)
        try:
            self._tools = await asyncio.shield(listing)
        except Unavailable:
            if self._tools is None:
                raise
        return self._tools

    async def call(self, tenant: str, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The result of a call, in llama-server's form. Raises `ApiError`, and `Unavailable`."""
        size = len(orjson.dumps(arguments))
        if size > MAX_ARGUMENT_BYTES:
            raise InvalidRequest(f"params is larger than {MAX_ARGUMENT_BYTES} bytes", param="params")
        async with self._turns.hold(tenant, size):
            worker = await self._worker()
            timeout_s = self.server.timeout_ms / 1000
            request = {"call": tool, "arguments": arguments, "timeout_s": timeout_s}
            answer = await self._request(worker, request, timeout_s)
        if "error" in answer:
            return {"error": f"the tool has failed: {answer['error']}"}
        self._failures = 0
        if answer["is_error"]:
            return {"error": answer["text"]}
        return {"plain_text_response": answer["text"]}

    def stop(self) -> None:
        """Stop the server's process, and wait for its end. Called from another thread, at the end."""
        task = self._starting
        if task is not None and task.done() and not task.cancelled() and task.exception() is None:
            task.result().stop()

    async def _list(self) -> list[dict[str, Any]]:
        worker = await self._worker()
        answer = await self._request(worker, {"list": LIST_S}, LIST_S)
        if "error" in answer:
            if self._turns.requests == 0:  # otherwise it may be busy with a call
                worker.end()
            raise self._unavailable(f"it does not list its tools: {answer['error']}")
        tools: list[dict[str, Any]] = answer["tools"]
        return tools

    async def _request(
        self, worker: WorkerProcess, message: Mapping[str, Any], timeout_s: float
    ) -> dict[str, Any]:
        """The worker's answer. Raises `Unavailable`; a worker without an answer in time is killed."""
        try:
            async with asyncio.timeout(timeout_s + GRACE_S):
                return await worker.request(message)
        except TimeoutError:
            worker.end()
            raise self._unavailable("it sends too much, or blocks its client") from None
        except WorkerEnded as ended:
            raise self._unavailable(str(ended)) from None

    async def _worker(self) -> WorkerProcess:
        """The running process, which is started if there is none. Raises `Unavailable`."""
        task = self._starting
        if task is None or (task.done() and _has_failed(task)):
            wait_s = self._next_start - time.monotonic()
            if wait_s > MAX_WAIT_S:
                raise Unavailable(self._problem)
            delay_s = 2.0 ** min(self._failures, MAX_DELAY_DOUBLED)
            self._next_start = time.monotonic() + max(0.0, wait_s) + delay_s
            self._failures += 1
            task = self._starting = asyncio.ensure_future(self._start(max(0.0, wait_s)))
            task.add_done_callback(_look_at_error)
        return await asyncio.shield(task)

    async def _start(self, wait_s: float) -> WorkerProcess:
        await asyncio.sleep(wait_s)
        try:
            async with asyncio.timeout(CONNECT_S):
                worker, first = await WorkerProcess.start(self._options(), self._directory)
        except TimeoutError:
            raise self._unavailable(f"it has not answered within {CONNECT_S:g} s") from None
        except (OSError, WorkerEnded) as error:
            raise self._unavailable(str(error)) from None
        if "failed" in first:
            worker.end()
            raise self._unavailable(first["failed"])
        self._problem = ""
        self._failures = min(self._failures, MAX_DOUBLED_AFTER_USE)
        return worker

    def _unavailable(self, problem: str) -> Unavailable:
        """The error, which is logged when it is new."""
        if problem != self._problem:
            log.error("tools.mcp_servers.%s: %s (its log: %s)", self.name, problem, self._directory)
        self._problem = problem
        return Unavailable(problem)

    def _options(self) -> dict[str, Any]:
        server = self.server
        passed = {name: os.environ[name] for name in server.pass_env if name in os.environ}
        return {
            "name": self.name,
            "command": server.command,
            "args": server.args,
            "env": {**passed, **server.env},
            "cwd": server.cwd,
            "max_memory_mib": server.max_memory_mib,
            "url": server.url,
            "token": os.environ.get(server.secret_variable) if server.secret_variable else None,
            "max_result_bytes": self._max_result_bytes,
        }


def _has_failed(task: asyncio.Task[WorkerProcess]) -> bool:
    return task.cancelled() or task.exception() is not None or task.result().has_ended


def _look_at_error(task: asyncio.Task[Any]) -> None:
    """Mark the error as seen: those who waited for it may be gone."""
    if not task.cancelled():
        task.exception()
