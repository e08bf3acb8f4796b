"""Tools that the platform runs, as llama-server's web UI uses them."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psutil
import pytest

from config.api_keys import digest_of
from config.settings import ROOT
from tests.support.platform import Platform, running_platform
from tests.support.waiting import scaled, wait_until

pytestmark = [pytest.mark.journey, pytest.mark.slow]

OTHER = "sk-other"
MCP_SERVER = str(ROOT / "tests/support/mcp_server.py")
DISABLED = {"error": {"message": "this feature is disabled", "type": "feature_disabled"}}
"""The body of llama-server (tools/server/server.cpp), which has no code."""


@pytest.fixture(scope="module")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    local = {
        "models": {"stub": {"backend": "stub", "enabled": True}, "stoker-demo": {"enabled": False}},
        "tenants": {"other": {"api_keys_sha256": [digest_of(OTHER)]}},
        "tools": {
            "enabled": ["all"],
            "write": ["default"],
            "time_limit_s": 5,
            "mcp_servers": {
                "test": {
                    "command": sys.executable,
                    "args": ["-P", MCP_SERVER, "good", "stdio"],
                    "timeout_ms": 5000,
                },
                "own": {"command": "no-such-program", "tenants": ["default"]},
            },
        },
    }
    folder = tmp_path_factory.mktemp("tools")
    with running_platform(folder, local, "--port", "0", "--no-flower") as platform:
        platform.wait_state("stub", "loaded", 60)
        platform.wait_tool("test_echo")
        yield platform


def call(platform: Platform, tool: str, key: str | None = None, **params: Any) -> tuple[int, Any]:
    return platform.call("POST", "/tools", {"tool": tool, "params": params}, key)


@pytest.mark.rule("llama-server/cors-proxy")
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_the_platform_is_never_a_proxy(platform: Platform, method: str) -> None:
    assert platform.call(method, f"/cors-proxy?url={platform.url}/health") == (403, DISABLED)
    assert platform.call(method, "/cors-proxy", key="sk-unknown")[0] == 401


def test_a_tool_needs_a_key(platform: Platform) -> None:
    status, body = platform.call("GET", "/tools", key="sk-unknown")
    assert (status, body["error"]["type"]) == (401, "authentication_error")


@pytest.mark.rule("llama-server/tools-list")
def test_the_tools_are_listed_in_llama_servers_form(platform: Platform) -> None:
    status, tools = platform.call("GET", "/tools")
    assert status == 200
    names = [tool["tool"] for tool in tools]
    assert names[:6] == [
        *("get_datetime", "read_file", "file_glob_search", "grep_search", "write_file", "edit_file"),
    ]
    assert {"test_echo", "test_add"} <= {*names[6:]}
    assert all(name.startswith("test_") for name in names[6:])
    for tool in tools:
        assert {*tool} == {"tool", "display_name", "type", "permissions", "uses_cwd", "definition"}
        assert tool["type"] == ("mcp" if tool["tool"].startswith("test_") else "builtin")
        assert tool["permissions"] == {"write": tool["tool"] in ("write_file", "edit_file")}
        assert tool["definition"]["function"]["name"] == tool["tool"]
        assert tool["definition"]["function"]["parameters"]["type"] == "object"


@pytest.mark.rule("llama-server/tools-write")
def test_a_tenant_without_the_permission_has_no_tools_that_write(platform: Platform) -> None:
    _, tools = platform.call("GET", "/tools", key=OTHER)
    assert not [tool for tool in tools if tool["permissions"]["write"]]
    status, body = call(platform, "write_file", OTHER, path="a", content="b")
    assert (status, body["error"]["code"], body["error"]["type"]) == (403, 403, "permission_error")


@pytest.mark.rule("llama-server/tools-folder")
def test_tenants_have_folders_of_their_own(platform: Platform) -> None:
    assert call(platform, "write_file", path="own/a.txt", content="mine\n")[0] == 200
    assert call(platform, "read_file", path="own/a.txt") == (200, {"plain_text_response": "mine\n"})
    for path in ("own/a.txt", "../default/own/a.txt", "/../default/own/a.txt"):
        status, body = call(platform, "read_file", OTHER, path=path)
        assert (status, [*body]) == (200, ["error"])
    assert (platform.folder / "data" / "tools" / "default" / "own" / "a.txt").read_text() == "mine\n"


def test_headers_name_the_working_directory_and_the_form_of_a_file(platform: Platform) -> None:
    call(platform, "write_file", path="sub/b.txt", content="text")
    body = {"tool": "read_file", "params": {"path": "b.txt", "cwd": "/none", "resp_type": "none"}}
    headers = {"x-tool-cwd": "/sub", "x-resp-type": "base64"}
    status, answer, _ = platform.request("POST", "/tools", body, **headers)
    assert (status, answer) == (200, {"base64": "dGV4dA==", "size_bytes": 4})
    status, answer, _ = platform.request("POST", "/tools", body, **{"x-tool-runtime": "ssh:host"})
    assert (status, answer["error"]["message"]) == (400, "unknown tool runtime: ssh:host")


@pytest.mark.rule("llama-server/tools-call")
@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        (
            {"tool": "exec_shell_command", "params": {"command": "id"}},
            404,
            'unknown tool "exec_shell_command"',
        ),
        ({"tool": "test_none"}, 404, 'unknown tool "test_none"'),
        ({"tool": "none_echo"}, 404, 'unknown tool "none_echo"'),
        ({"tool": "read_file"}, 400, "params.path is required"),
        ({"tool": "read_file", "params": {"path": 5}}, 400, "params.path must be of the type string"),
        (
            {"tool": "read_file", "params": {"path": "a", "start_line": 1e30}},
            400,
            "params.start_line must be",
        ),
        (
            {"tool": "edit_file", "params": {"path": "a", "edits": [1]}},
            400,
            "params.edits[0].old_text must be",
        ),
        (
            {"tool": "edit_file", "params": {"path": "a", "edits": []}},
            400,
            "params.edits must have 1 to 1000",
        ),
        ({"tool": "read_file", "params": []}, 400, "params must be an object"),
        ({"params": {}}, 400, "tool "),
        ({"tool": "x" * 300}, 400, "tool "),
        (
            {"tool": "read_file", "params": {"path": "a"}, "stream": True},
            404,
            'tool "read_file" does not support',
        ),
    ],
)
def test_a_call_that_cannot_be_made_has_llama_servers_form(
    platform: Platform, body: Any, status: int, message: str
) -> None:
    answered, error = platform.call("POST", "/tools", body)
    assert (answered, error["error"]["code"]) == (status, status)
    assert error["error"]["message"].startswith(message)


@pytest.mark.rule("llama-server/tools-call")
def test_a_tool_that_fails_answers_200_with_its_error(platform: Platform) -> None:
    assert call(platform, "read_file", path="/none") == (200, {"error": "cannot stat file: /none"})
    assert call(platform, "own_echo") == (200, {"error": "MCP server unavailable: own"})
    assert call(platform, "own_echo", OTHER)[0] == 404


def test_a_call_returns_the_date_and_time(platform: Platform) -> None:
    status, body = call(platform, "get_datetime")
    assert status == 200
    time.strptime(body["result"], "%Y-%m-%dT%H:%M:%SZ")
    assert call(platform, "get_datetime", format="%Y")[1]["result"].startswith("20")
    for hostile in ("%9999999d" * 10, "", "x" * 1000, "%"):
        assert call(platform, "get_datetime", format=hostile)[0] == 200


@pytest.mark.rule("llama-server/tools-call")
@pytest.mark.parametrize("tool", ["write_file", "test_echo"])
def test_a_model_calls_a_tool_and_reads_its_result(platform: Platform, tool: str) -> None:
    """GET /tools, a chat with the definitions, POST /tools, and the chat with the result."""
    _, tools = platform.call("GET", "/tools")
    definitions = [one["definition"] for one in tools]
    for definition in definitions:
        if definition["function"]["name"] == tool:  # then the stub's arguments fit
            definition["function"]["strict"] = True
            definition["function"]["parameters"]["additionalProperties"] = False
            for one in definition["function"]["parameters"]["properties"].values():
                one["minLength"] = 1
    messages: list[dict[str, Any]] = [{"role": "user", "content": f"/stub tool_call={tool}"}]
    chat = {"model": "stub", "messages": messages, "tools": definitions}
    status, first = platform.call("POST", "/v1/chat/completions", chat)
    assert status == 200, first
    message = first["choices"][0]["message"]
    [made] = message["tool_calls"]
    status, result = platform.call(
        "POST",
        "/tools",
        {"tool": made["function"]["name"], "params": json.loads(made["function"]["arguments"])},
    )
    assert status == 200
    assert "error" not in result, result
    content = result.get("plain_text_response", json.dumps(result))
    messages += [message, {"role": "tool", "tool_call_id": made["id"], "content": content}]
    status, second = platform.call("POST", "/v1/chat/completions", chat)
    assert (status, second["choices"][0]["finish_reason"]) == (200, "stop")
    assert second["choices"][0]["message"]["content"]


@pytest.mark.hostile
def test_slow_calls_of_one_tenant_delay_no_other(platform: Platform) -> None:
    """One tenant's searches use all of their time; the other's calls and chats are answered meanwhile."""
    call(platform, "write_file", path="slow.txt", content="a" * 64 + "!")
    with ThreadPoolExecutor(24) as threads:
        slow = [
            threads.submit(call, platform, "grep_search", path="slow.txt", pattern="(a+)+$")
            for _ in range(20)
        ]
        hung = [threads.submit(call, platform, "test_hang") for _ in range(4)]
        wait_until(lambda: _children(platform, "child.py") > 0)
        for _ in range(3):
            assert call(platform, "file_glob_search", OTHER, path="/")[0] == 200
            assert call(platform, "test_echo", OTHER, message="hi") == (200, {"plain_text_response": "hi"})
            chat = {"model": "stub", "messages": [{"role": "user", "content": "/stub tokens=1"}]}
            assert platform.call("POST", "/v1/chat/completions", chat, OTHER)[0] == 200
            assert _children(platform, "child.py") <= 3
        assert not all(one.done() for one in slow)
        answers = [one.result() for one in slow]
        assert {status for status, _ in answers} <= {200, 429}
        assert all("error" in body for _, body in answers)
        assert {one.result()[0] for one in hung} == {200}


def _children(platform: Platform, program: str) -> int:
    found = psutil.Process(platform.process.pid).children(recursive=True)
    return sum(any(part.endswith(program) for part in _argv(process)) for process in found)


def _argv(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []


def test_the_processes_of_mcp_servers_end_with_a_killed_api_process(platform: Platform) -> None:
    call(platform, "test_echo", message="hi")
    found = psutil.Process(platform.process.pid).children(recursive=True)
    servers = [process for process in found if MCP_SERVER in _argv(process)]
    assert servers
    killed = [process for process in found if _argv(process)[-2:] == ["stoker", "api"]]
    assert killed, [_argv(process) for process in found]
    for process in killed:
        process.kill()
    wait_until(lambda: not any(process.is_running() for process in servers))
    platform.wait_for(lambda: _answers(platform), scaled(30), "answer of a new API process")
    assert call(platform, "test_echo", message="hi") == (200, {"plain_text_response": "hi"})


def _answers(platform: Platform) -> bool:
    try:
        return platform.call("GET", "/tools")[0] == 200
    except OSError:
        return False
