"""Extracts the text of PDF files, each in a child process within limits (`api.documents.pdf_text`)."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import math
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path

from api.documents.errors import DocumentRefused, TooManyDocuments
from api.documents.pdf_text import TOO_LARGE, UNREADABLE
from config.settings import DocumentSettings

PROGRAM = Path(__file__).with_name("pdf_text.py")
INSTALL = "pip install 'stoker[documents]'"
MIB = 1024 * 1024
WALL_PER_CPU_S = 2.0
"""How much longer than its time of CPU a child may take: the machine may be busy."""

GRACE_S = 2.0
"""How long the parent waits for a child beyond the limit at which the kernel ends it."""

MAX_WAITING_PER_TENANT = 16
MAX_WAITING = 256
"""The most requests of a tenant, and of all, that extract or wait in one API process."""

MAX_BYTES_PER_TENANT, MAX_BYTES = 64 * MIB, 256 * MIB
"""The most bytes of their files. One request of each tenant is taken in any case."""

RETRY_S = 5


@cache
def is_installed() -> bool:
    """Whether the library that reads PDF files is there."""
    return importlib.util.find_spec("pypdf") is not None


class _Waiting:
    """The requests of one tenant that extract or wait, and the bytes of their files."""

    __slots__ = ("bytes", "count", "running")

    def __init__(self, running: int) -> None:
        self.count = self.bytes = 0
        self.running = asyncio.Semaphore(running)


class Turns:
    """The turns to extract: so many of a tenant, and so many in all, in the order of arrival.

    For the event loop's thread only.
    """

    def __init__(self, settings: DocumentSettings) -> None:
        self._settings = settings
        self._running = asyncio.Semaphore(settings.max_running)
        self._by_tenant: dict[str, _Waiting] = {}

    @asynccontextmanager
    async def turn(self, tenant: str, size: int = 0) -> AsyncIterator[None]:
        """Wait for a turn, with files of so many bytes, and hold it. Raises `TooManyDocuments`."""
        own = self._by_tenant.get(tenant) or _Waiting(self._settings.max_running_per_tenant)
        if own.count and (
            own.count >= MAX_WAITING_PER_TENANT
            or self.waiting >= MAX_WAITING
            or own.bytes + size > MAX_BYTES_PER_TENANT
            or sum(one.bytes for one in self._by_tenant.values()) + size > MAX_BYTES
        ):
            raise TooManyDocuments(
                "too many requests wait for the text of their documents", retry_after_s=RETRY_S
            )
        self._by_tenant[tenant] = own
        own.count += 1
        own.bytes += size
        try:
            # the tenant's first: then no tenant has more than its share of those that wait for the others
            async with own.running, self._running:
                yield
        finally:
            own.count -= 1
            own.bytes -= size
            if not own.count:
                del self._by_tenant[tenant]

    @property
    def waiting(self) -> int:
        """How many requests extract or wait."""
        return sum(one.count for one in self._by_tenant.values())


class Budget:
    """What one request may still use for its documents: seconds of CPU, and bytes of text."""

    def __init__(self, settings: DocumentSettings) -> None:
        self.settings = settings
        self.cpu_s = float(settings.timeout_s)
        self.text_bytes = settings.max_text_bytes


async def pdf_text(data: bytes, budget: Budget, param: str) -> str:
    """The text of a PDF file, which counts against the budget.

    Raises `DocumentRefused` with the path `param`. A cancellation ends the child.
    """
    began = time.monotonic()
    settings = budget.settings
    cpu_s = max(1, math.ceil(budget.cpu_s))
    wall_s = cpu_s * WALL_PER_CPU_S
    limits = {
        "cpu_s": cpu_s,
        "wall_s": wall_s,
        "memory_bytes": settings.max_memory_mib * MIB,
        "max_pages": settings.max_pages,
        "max_text_bytes": budget.text_bytes,
    }
    # no PATH: pypdf would look for programs that decode images
    child = await asyncio.create_subprocess_exec(
        sys.executable,
        "-I",
        str(PROGRAM),
        json.dumps(limits),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env={},
        cwd="/",
    )
    try:
        async with asyncio.timeout(wall_s + GRACE_S):
            answer = await _exchange(child, data, budget.text_bytes + 1024)
    except TimeoutError:
        answer = b""
    finally:
        if child.returncode is None:
            child.kill()
            await child.wait()
        budget.cpu_s -= time.monotonic() - began
    head, _, text = answer.partition(b"\n")
    if head == b"ok":
        budget.text_bytes -= len(text)
        return text.decode("utf-8", "replace")
    code, _, message = head.decode("utf-8", "replace").partition(" ")
    if code not in (UNREADABLE, TOO_LARGE):  # the kernel or the parent ended it
        code, message = TOO_LARGE, f"takes longer than {settings.timeout_s} s to read, or too much memory"
    raise DocumentRefused(f"the document {message}", code=code, param=param)


async def _exchange(child: asyncio.subprocess.Process, data: bytes, max_bytes: int) -> bytes:
    """What the child answers to its input; b"" if that is too much, or the child has failed."""
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
