"""Runs the file tools, each call in a child process, with turns for each tenant."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson

from api.http.child_process import run_child
from api.http.fair_semaphore import FairSemaphore, Limit
from api.tools.turns import too_many_calls
from config.settings import Settings

PROGRAM = Path(__file__).with_name("child.py")
MIB = 1024 * 1024
MAX_RUNNING_PER_TENANT, MAX_RUNNING = 2, 4
"""The most child processes for one tenant, and of one API process."""

MAX_REQUESTS_PER_TENANT, MAX_REQUESTS = 16, 256
MAX_BYTES_PER_TENANT, MAX_BYTES = 32 * MIB, 256 * MIB
FOLDER = "tools"


class FileTools:
    """The tools on files of one platform. For the event loop's thread only."""

    def __init__(self, settings: Settings) -> None:
        tools = settings.tools
        self._directory = tools.directory or str(settings.data_dir / FOLDER)
        self._limits = {
            "wall_s": tools.time_limit_s,
            "max_file_bytes": tools.max_file_bytes,
            "max_bytes": tools.max_bytes_per_tenant,
            "max_files": tools.max_files_per_tenant,
            "max_result_bytes": tools.max_result_bytes,
        }
        # a file in base64, or a text of characters that JSON escapes
        self._max_answer = 6 * max(tools.max_file_bytes, tools.max_result_bytes) + MIB
        self._turns = FairSemaphore(
            Limit(MAX_RUNNING_PER_TENANT, MAX_REQUESTS_PER_TENANT, MAX_BYTES_PER_TENANT),
            Limit(MAX_RUNNING, MAX_REQUESTS, MAX_BYTES),
            too_many_calls,
        )

    async def call(self, tenant: str, tool: str, params: dict[str, Any], cwd: str) -> dict[str, Any]:
        """The result of a call. Raises `ApiError` (too_many_tool_calls). A cancellation ends it."""
        call = {
            "tool": tool,
            "params": params,
            "cwd": cwd,
            "directory": self._directory,
            "tenant": tenant,
            "limits": self._limits,
        }
        data = orjson.dumps(call)
        async with self._turns.hold(tenant, len(data)):
            wall_s = self._limits["wall_s"]
            answer = await run_child(PROGRAM, (), data, wall_s=wall_s, max_bytes=self._max_answer)
        if not answer:
            return {"error": f"the call takes longer than {wall_s:g} s, or needs too much memory"}
        result: dict[str, Any] = orjson.loads(answer)
        return result
