"""Runs programs of the project, which work on what hostile clients send, in child processes within limits."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path

GRACE_S = 2.0
"""How long the parent waits for a child beyond the limit at which the kernel ends it."""


async def run_child(
    program: Path, arguments: Sequence[str], data: bytes, *, wall_s: float, max_bytes: int
) -> bytes:
    """What the program answers to `data`; b"" if that is too much or takes too long, or it has failed.

    It has no environment (no PATH: a library could look for programs). A cancellation ends it.
    """
    child = await asyncio.create_subprocess_exec(
        sys.executable,
        "-IB",  # isolated; no bytecode: a limit of the size of files would cut it
        str(program),
        *arguments,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env={},
        cwd="/",
    )
    try:
        async with asyncio.timeout(wall_s + GRACE_S):
            return await _exchange(child, data, max_bytes)
    except TimeoutError:
        return b""
    finally:
        if child.returncode is None:
            child.kill()
            await child.wait()


async def _exchange(child: asyncio.subprocess.Process, data: bytes, max_bytes: int) -> bytes:
    assert child.stdin is not None and child.stdout is not None  # noqa: S101, PT018 - both are pipes
    try:
        child.stdin.write(data)
        await child.stdin.drain()
        child.stdin.close()
    except (BrokenPipeError, ConnectionResetError):  # it ended before it had read all
        return b""
    answer = bytearray()
    while part := await child.stdout.read(64 * 1024):
        answer += part
        if len(answer) > max_bytes:
            return b""
    return bytes(answer) if await child.wait() == 0 else b""
