"""Starts llama-server, as a program or from the xllamacpp wheel, and waits until it answers."""

from __future__ import annotations

import json
import os
import re
import select
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import orjson

from backends.llama_server.arguments import PREFIX, SLOT_FOLDER, LlamaServerOptions
from backends.shared.http_engine import ServerClient
from backends.shared.pipe_engine import ENGINE_PROGRAM
from backends.shared.server_address import ServerAddress, server_address
from backends.shared.start import EngineStart, library_path
from engines.engine_process.process import EngineProcess
from fleet.artifacts.gguf_weights import parts_of
from http_client.client import HttpError

TICK_S = 0.05
LOG_WAIT_S = 10.0  # how long an engine that has failed may take to end, on a busy machine
LOAD_BYTES_PER_S = 1e9  # an estimate, for progress only
MAX_READ = 0.9  # the progress when the whole file is read
RCHAR = re.compile(r"rchar: (\d+)")
RSS_FILE = re.compile(r"RssFile:\s+(\d+) kB")

Run = Callable[..., EngineProcess]
"""`EngineStart.run` with the environment and the limits of the server."""


@dataclass(frozen=True)
class StartedServer:
    """A server that answers: its process, a client for it, and its version if it reports one."""

    process: EngineProcess
    client: ServerClient
    version: str | None


def start_server(
    start: EngineStart, options: LlamaServerOptions, python: Path | None, cpu_limit_s: int | None = None
) -> StartedServer:
    """Start the configured binary, or the engine of xllamacpp under `python`. Raises `LoadError`.

    With `cpu_limit_s` SIGXCPU ends a process that has used so much CPU time.
    """
    address = server_address(
        *(PREFIX, options.host, options.port, options.api_key),
        chooses_port=python is not None,
        same_port=start.launch.same_port,
    )
    run = partial(
        start.run,
        env=server_environment(options, address.key),
        memory_limit_mib=options.memory_limit_mib,
        cpu_limit_s=cpu_limit_s,
    )
    if python is None:
        process, version = _start_native(start, options, address, run), None
    else:
        process, report = _start_packaged(start, options, str(python), run)
        address, version = replace(address, port=report["port"]), report.get("version")
    return StartedServer(process, ServerClient(address), version)


def server_environment(options: LlamaServerOptions, key: str) -> dict[str, str]:
    """The variables of the server's process, which add to the inherited ones."""
    folders = [] if options.library_path is None else [options.library_path]
    variables = {**library_path(*folders), **options.environment, "LLAMA_API_KEY": key}
    # the server would keep the prompts of all slots in memory, and reuse them for any request; a variable,
    # because older servers refuse a flag that they do not know
    return {**variables, "LLAMA_ARG_CACHE_RAM": "0"}


def slot_folder(start: EngineStart) -> str:
    """The folder in which the server saves slots, with a slash at its end."""
    states = start.launch.states
    return SLOT_FOLDER if states is None else f"{states}/"


def _start_native(
    start: EngineStart, options: LlamaServerOptions, address: ServerAddress, run: Run
) -> EngineProcess:
    """Start the configured binary and wait until it is healthy."""
    process = run(options.argv(address.port, slot_folder(start)))
    progress = _ReadProgress(start, options.model, process.pid)
    while not _is_healthy(ServerClient(address)):
        progress.report()
        process.wait(TICK_S)
        start.check()
    return process


def _is_healthy(client: ServerClient) -> bool:
    try:
        return client.get("/health", with_key=False)[0] == 200
    except HttpError:
        return False


def _start_packaged(
    start: EngineStart, options: LlamaServerOptions, python: str, run: Run
) -> tuple[EngineProcess, dict[str, Any]]:
    """Start the engine inside xllamacpp and wait for its report. Returns its process and the report.

    The report has its `port`, which it chooses itself unless one is configured, and the `version`.
    """
    report, report_end = os.pipe()
    with os.fdopen(report, "rb", buffering=0) as reading:
        try:
            argv = [python, "-I", str(ENGINE_PROGRAM), "llama_server", str(report_end)]
            argv += [json.dumps(options.for_engine(slot_folder(start)))]
            process = run(argv, pass_fds=(report_end,))
        finally:
            os.close(report_end)
        progress = _ReadProgress(start, options.model, process.pid)
        poll = select.poll()
        poll.register(reading, select.POLLIN)
        while not poll.poll(TICK_S * 1000):
            progress.report()
            start.check(lambda: bool(poll.poll(0)))
        line = reading.readline()
    message = orjson.loads(line) if line.endswith(b"\n") else {}
    if "port" not in message:
        process.wait(LOG_WAIT_S)  # llama.cpp writes its log in a thread, which ends with the process
        raise start.failed(process, message.get("failed"))
    return process, message


class _ReadProgress:
    """Reports the share of the model's file that the server has read: it reports no progress itself.

    These are the bytes that its process has read, or the pages of mapped files that it holds. Where the
    kernel does not tell them, the time is used: half of the rest passes in each expected duration.
    """

    def __init__(self, start: EngineStart, model: Path, pid: int) -> None:
        self._start = start
        self._process = Path(f"/proc/{pid}")
        self._size = sum(part.stat().st_size for part in parts_of(model))
        self._began = time.monotonic()
        self._before: int | None = None

    def report(self) -> None:
        """Report progress."""
        read = bytes_read(self._process)
        if read is None:
            passed = (time.monotonic() - self._began) / (0.2 + self._size / LOAD_BYTES_PER_S)
            done = 1 - 0.5**passed
        else:
            self._before = read if self._before is None else self._before
            done = MAX_READ * min(1.0, (read - self._before) / self._size)
        self._start.progress(done, "loading the model")


def bytes_read(process: Path) -> int | None:
    """Bytes that a process has read from files or holds of mapped ones; None if that is unknown."""
    try:
        counters = (process / "io").read_text(), (process / "status").read_text()
        read, mapped = RCHAR.search(counters[0]), RSS_FILE.search(counters[1])
    except OSError:
        return None
    return max(int(read[1]), 1024 * int(mapped[1])) if read and mapped else None
