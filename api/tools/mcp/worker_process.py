"""The parent's side of the process that talks to one MCP server (`worker.py`)."""

from __future__ import annotations

import asyncio
import itertools
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson

from engines.engine_process.process import EngineProcess

PROGRAM = Path(__file__).with_name("worker.py")
MAX_LINE = 8 * 1024 * 1024
"""Bytes of an answer: a result of `tools.max_result_bytes`, each of which JSON may write as six."""

STOP_S = 1.0


class WorkerEnded(Exception):
    """Raised for a request to a process that has ended, or ends before its answer."""


class WorkerProcess:
    """A running process. For the event loop's thread only, except `stop`."""

    def __init__(self, process: EngineProcess, writer: asyncio.WriteTransport) -> None:
        self.process = process
        self.has_ended = False
        self._writer = writer
        self._numbers = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._reading: asyncio.Task[None] | None = None

    @classmethod
    async def start(cls, options: Mapping[str, Any], directory: Path) -> tuple[WorkerProcess, dict[str, Any]]:
        """Start the process in its directory, which gets its log. Returns it with its first answer.

        Raises `WorkerEnded` or `OSError`. A cancellation ends the process.
        """
        requests, requests_end = os.pipe()
        answers_end, answers = os.pipe()
        argv = [sys.executable, "-IB", str(PROGRAM), str(requests), str(answers)]
        try:
            process = await asyncio.to_thread(
                EngineProcess.start,
                argv,
                directory=directory,
                env={},
                on_exit=lambda _: None,
                pass_fds=(requests, answers),
            )
        except BaseException:
            os.close(requests_end)
            os.close(answers_end)
            raise
        finally:
            os.close(requests)
            os.close(answers)
        loop = asyncio.get_running_loop()
        writer, _ = await loop.connect_write_pipe(asyncio.Protocol, os.fdopen(requests_end, "wb", 0))
        reader = asyncio.StreamReader(limit=MAX_LINE)
        protocol = asyncio.StreamReaderProtocol(reader)
        await loop.connect_read_pipe(lambda: protocol, os.fdopen(answers_end, "rb", 0))
        worker = cls(process, writer)
        try:
            writer.write(orjson.dumps(options) + b"\n")
            line = await reader.readline()
            if not line:
                raise WorkerEnded("its process has ended")
        except BaseException:
            worker.end()
            raise
        worker._reading = asyncio.ensure_future(worker._read(reader))
        first: dict[str, Any] = orjson.loads(line)
        return worker, first

    async def request(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """The answer to a request, which a cancellation ends there, too. Raises `WorkerEnded`."""
        if self.has_ended:
            raise WorkerEnded("its process has ended")
        number = next(self._numbers)
        answer = self._waiting[number] = asyncio.get_running_loop().create_future()
        try:
            self._writer.write(orjson.dumps({"id": number, **message}) + b"\n")
            result: dict[str, Any] = await answer
        except asyncio.CancelledError:
            self._writer.write(orjson.dumps({"cancel": number}) + b"\n")
            raise
        finally:
            del self._waiting[number]
        return result

    async def _read(self, reader: asyncio.StreamReader) -> None:
        try:
            while line := await reader.readline():
                answer = orjson.loads(line)
                waiting = self._waiting.get(answer.get("id", 0))  # None: its request was cancelled
                if waiting is not None and not waiting.done():
                    waiting.set_result(answer)
                if answer["gone"]:
                    break
        except ValueError:  # a line over the limit
            pass
        finally:
            self.end()

    def end(self) -> None:
        """Kill the process, with all that it has started. Its requests fail."""
        if self.has_ended:
            return
        self.has_ended = True
        self.process.kill()
        self._writer.close()
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(WorkerEnded("its process has ended"))

    def stop(self) -> None:
        """Stop the process, and wait for its end. May be called from any thread."""
        self.process.stop(STOP_S)
