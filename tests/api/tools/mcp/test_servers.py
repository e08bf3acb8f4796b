"""MCP servers, made with the official package: programs and addresses, good ones and hostile ones."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import psutil
import pytest

from api.tools.mcp import connection, servers
from api.tools.mcp.servers import McpServers
from config.settings import ROOT, McpServer, Settings, ToolSettings
from tests.conftest import free_port
from tests.support.waiting import scaled, wait_until

pytestmark = pytest.mark.slow

PROGRAM = str(ROOT / "tests/support/mcp_server.py")
Use = Callable[[McpServers], Awaitable[None]]


@pytest.fixture(autouse=True)
def slow_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine may take longer to start a server than a list of tools waits for it."""
    monkeypatch.setattr(servers, "LIST_WAIT_S", scaled(120))
    monkeypatch.setattr(connection, "CONNECT_S", scaled(90))


def stdio(kind: str = "good", **changes: Any) -> McpServer:
    return McpServer(command=sys.executable, args=("-P", PROGRAM, kind, "stdio"), **changes)


def run(folder: Path, use: Use, **configured: McpServer) -> None:
    """Run `use` with these servers, and stop them."""
    tools = ToolSettings(mcp_servers=configured, max_result_bytes=10_000)
    made = McpServers(replace(Settings(), data_dir=folder, tools=tools))

    async def within() -> None:
        try:
            await use(made)
        finally:
            await asyncio.to_thread(made.stop)

    asyncio.run(within())


async def call(made: McpServers, name: str, **params: Any) -> dict[str, Any]:
    result = await made.call("one", name, params)
    assert result is not None
    return result


@contextmanager
def http_server(folder: Path, kind: str = "good") -> Iterator[str]:
    port = free_port()
    url = f"http://127.0.0.1:{port}/mcp"
    with (folder / "server.log").open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-P", PROGRAM, kind, "http", str(port)], stdout=output, stderr=output
        )
    try:
        wait_until(partial(_listens, port), 60, (folder / "server.log").read_text)
        yield url
    finally:
        process.kill()
        process.wait()


def _listens(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


@pytest.mark.rule("llama-server/tools-mcp")
def test_a_program_serves_its_tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET", "sk-secret")
    monkeypatch.setenv("PASSED", "value")

    async def use(made: McpServers) -> None:
        tools = await made.tools("one")
        described = next(tool for tool in tools if tool["tool"] == "test_echo")
        assert described["type"] == "mcp"
        assert described["permissions"] == {"write": False}
        function = described["definition"]["function"]
        assert described["definition"]["type"] == "function"
        assert (function["name"], function["description"]) == ("test_echo", "Return the message.")
        assert function["parameters"]["required"] == ["message"]
        assert await call(made, "test_echo", message="hi\u00e9") == {"plain_text_response": "hi\u00e9"}
        assert await call(made, "test_add", a=3, b=5) == {"plain_text_response": "8"}
        assert "error" in await call(made, "test_fail")
        assert "error" in await call(made, "test_add", a="x")
        assert await made.call("one", "test_none", {}) is None
        assert await made.call("one", "other_echo", {}) is None
        shown = (await call(made, "test_variables"))["plain_text_response"]
        assert "SECRET" not in shown
        assert "REDIS_URL" not in shown
        assert "'OWN'" in shown
        assert "'PASSED'" in shown
        answers = await asyncio.gather(*(call(made, "test_echo", message=str(n)) for n in range(10)))
        assert answers == [{"plain_text_response": str(n)} for n in range(10)]

    run(tmp_path, use, test=stdio(env={"OWN": "1"}, pass_env=("PASSED",)))


@pytest.mark.rule("llama-server/tools-mcp")
def test_an_address_serves_its_tools(tmp_path: Path) -> None:
    async def use(made: McpServers) -> None:
        assert "web_echo" in {tool["tool"] for tool in await made.tools("one")}
        assert await call(made, "web_echo", message="hi") == {"plain_text_response": "hi"}
        assert await call(made, "web_hang") == {"error": "the tool has failed: the time limit is reached"}
        assert await call(made, "web_add", a=1, b=2) == {"plain_text_response": "3"}
        cut = (await call(made, "web_large", size=1_000_000))["plain_text_response"]
        assert cut.endswith("[output truncated: 10000 of 1000000 bytes]")
        assert "error" in await call(made, "web_large", size=100_000_000)

    with http_server(tmp_path) as url:
        run(tmp_path, use, web=McpServer(url=url, timeout_ms=int(scaled(3000))))


def test_a_tenant_sees_and_calls_its_servers_only(tmp_path: Path) -> None:
    async def use(made: McpServers) -> None:
        assert await made.tools("one") == []
        assert await made.call("one", "test_echo", {"message": "hi"}) is None
        assert await made.call("two", "test_echo", {"message": "hi"}) == {"plain_text_response": "hi"}

    run(tmp_path, use, test=stdio(tenants=("two",)))


def test_a_crashed_server_is_started_again(tmp_path: Path) -> None:
    async def use(made: McpServers) -> None:
        first = (await call(made, "test_variables"))["plain_text_response"]
        assert "error" in await call(made, "test_crash")
        again = (await call(made, "test_variables"))["plain_text_response"]
        assert first != again

    run(tmp_path, use, test=stdio())


def test_a_server_that_crashes_at_each_start_is_started_less_and_less(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def use(made: McpServers) -> None:
        for _ in range(50):
            assert await made.tools("one") == []
        starts = (tmp_path / "starts").read_text().count("x")
        assert 1 <= starts <= 6  # after 0, 2, 4, 8, ... s

    program = f"open({str(tmp_path / 'starts')!r}, 'a').write('x')"
    run(tmp_path, use, bad=McpServer(command=sys.executable, args=("-c", program)))
    assert len([line for line in caplog.messages if line.startswith("tools.mcp_servers.bad: ")]) == 1


@pytest.mark.rule("llama-server/tools-mcp-bounds")
@pytest.mark.hostile
def test_a_hanging_call_costs_one_call(tmp_path: Path) -> None:
    async def use(made: McpServers) -> None:
        hung = asyncio.ensure_future(call(made, "test_hang"))
        assert await call(made, "test_echo", message="hi") == {"plain_text_response": "hi"}
        assert await hung == {"error": "the tool has failed: the time limit is reached"}
        assert await call(made, "test_echo", message="hi") == {"plain_text_response": "hi"}

    run(tmp_path, use, test=stdio(timeout_ms=int(scaled(2000))))


def test_a_server_that_does_not_start_delays_no_list(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def use(made: McpServers) -> None:
        await call(made, "test_echo", message="hi")
        monkeypatch.setattr(servers, "LIST_WAIT_S", 0.1)
        assert {tool["tool"].partition("_")[0] for tool in await made.tools("one")} == {"test"}

    silent = McpServer(command=sys.executable, args=("-c", "import time; time.sleep(3600)"))
    run(tmp_path, use, silent=silent, test=stdio())


@pytest.mark.hostile
def test_calls_of_clients_that_are_gone_end(tmp_path: Path) -> None:
    """Otherwise a client that calls and leaves has more calls than the limit."""

    async def use(made: McpServers) -> None:
        for _ in range(30):
            left = asyncio.ensure_future(made.call("one", "test_hang", {}))
            while not (await call(made, "test_running"))["plain_text_response"].endswith("1"):
                await asyncio.sleep(0.01)
            left.cancel()
            await asyncio.wait([left])
            while not (await call(made, "test_running"))["plain_text_response"].endswith("0"):
                await asyncio.sleep(0.01)

    run(tmp_path, use, test=stdio(timeout_ms=60_000))


@pytest.mark.hostile
@pytest.mark.parametrize(
    ("tool", "params"), [("block", {"path": "pid"}), ("flood", {}), ("large", {"size": 100_000_000})]
)
def test_a_server_that_blocks_or_floods_costs_one_call_and_never_the_event_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tool: str, params: dict[str, Any]
) -> None:
    monkeypatch.setattr(connection, "MAX_WAIT_S", 60.0)  # a busy machine starts it slowly

    async def use(made: McpServers) -> None:
        await made.tools("one")
        gaps: list[float] = []
        watch = asyncio.ensure_future(_watch_loop(gaps))
        assert "error" in await call(made, f"test_{tool}", **params)
        watch.cancel()
        assert max(gaps) < scaled(2)
        for _ in range(3):  # the check of the server may still run
            answer = await call(made, "test_echo", message="hi")
            if "error" not in answer:
                break
        assert answer == {"plain_text_response": "hi"}

    run(tmp_path, use, test=stdio(timeout_ms=int(scaled(3000)), cwd=str(tmp_path)))


async def _watch_loop(gaps: list[float]) -> None:
    """Measure how long the event loop lets its callbacks wait."""
    loop = asyncio.get_running_loop()
    while True:
        before = loop.time()
        await asyncio.sleep(0.01)
        gaps.append(loop.time() - before - 0.01)


@pytest.mark.rule("llama-server/tools-mcp-bounds")
@pytest.mark.hostile
def test_of_ten_thousand_tools_the_first_are_listed(tmp_path: Path) -> None:
    async def use(made: McpServers) -> None:
        tools = await made.tools("one")
        assert len(tools) == 128
        assert await made.call("one", "test_tool9999", {"message": "hi"}) is None

    run(tmp_path, use, test=stdio("many"))


def test_the_processes_of_a_server_end_with_it(tmp_path: Path) -> None:
    found: list[psutil.Process] = []
    others = set(psutil.Process().children(recursive=True))  # of other tests of this process

    async def use(made: McpServers) -> None:
        await made.tools("one")
        found.extend(set(psutil.Process().children(recursive=True)) - others)

    run(tmp_path, use, test=stdio())
    assert len(found) >= 3  # the guard, the client, the server
    wait_until(lambda: not any(process.is_running() for process in found))


MISTAKES = {
    "absent": ("/no/such/program", "the command /no/such/program (or its folder) does not exist"),
    "text": ("/etc/passwd", "the command /etc/passwd may not be run"),
    "silent": ("true", "its program does not speak MCP (MCPError: Connection closed)"),
}
"""A command that is no MCP server, and the sentence about it, by the name of the server."""


def test_a_mistake_of_the_operator_is_one_sentence_in_the_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def use(made: McpServers) -> None:
        assert {tool["tool"] for tool in await made.tools("one")} >= {"test_echo"}  # the other one is there
        for name in MISTAKES:
            assert await made.call("one", f"{name}_echo", {}) == {"error": f"MCP server unavailable: {name}"}

    bad = {name: McpServer(command=command) for name, (command, _) in MISTAKES.items()}
    run(tmp_path, use, **bad, test=stdio())
    for name, (_, sentence) in MISTAKES.items():
        lines = [line for line in caplog.messages if line.startswith(f"tools.mcp_servers.{name}: ")]
        assert lines == [f"tools.mcp_servers.{name}: {sentence} (its log: {tmp_path / 'mcp' / name})"]


def test_a_wrong_address_is_one_sentence_in_the_log(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def use(made: McpServers) -> None:
        assert await made.tools("one") == []

    run(tmp_path, use, bad=McpServer(url=f"http://127.0.0.1:{free_port()}/mcp"))
    (line,) = [line for line in caplog.messages if line.startswith("tools.mcp_servers.bad: ")]
    assert "there is no MCP server at its url" in line


def test_mistakes_in_the_settings_are_logged_at_the_start(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    tools = ToolSettings(mcp_servers={"a": McpServer(command="no-such-program", pass_env=("NO_SUCH",))})
    made = McpServers(replace(Settings(), data_dir=tmp_path, tools=tools))
    made.check()
    assert caplog.messages == [
        "tools.mcp_servers.a: the command no-such-program does not exist or cannot be run",
        "tools.mcp_servers.a: the environment variable NO_SUCH is not set",
    ]
    caplog.clear()
    monkeypatch.setattr(servers.importlib.util, "find_spec", lambda _: None)
    made.check()
    assert caplog.messages == ["tools.mcp_servers needs the package mcp: pip install 'stoker[mcp]'"]
