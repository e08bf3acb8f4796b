"""The same calls of tools to llama-server and to the platform's file tools: the answers are equal."""

from __future__ import annotations

import asyncio
import json
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from api.http.errors import InvalidRequest
from api.tools.builtin_tools import BUILTIN_TOOLS
from api.tools.mcp.servers import McpServers
from api.tools.toolbox import Toolbox
from config.load import load_settings
from config.settings import ROOT, Settings, ToolSettings

pytestmark = pytest.mark.engines

PROGRAM = """
import signal, sys, xllamacpp
params = xllamacpp.CommonParams()
params.verbosity, params.ui, params.hostnames, params.port = 1, False, ["127.0.0.1"], 0
params.model.path, params.n_ctx, params.n_parallel = sys.argv[1], 256, 1
params.server_tools = ["all"]
server = xllamacpp.Server(params)
print(server.listening_address.rpartition(":")[2], flush=True)
signal.pause()
"""
FILES = {
    "a.txt": "one\ntwo\nthree",
    "sub/b.py": "def f():\n    return 'two'\n",
    "sub/deep/c.txt": "x\n",
    "build/d.txt": "two\n",
    "loose.txt": "\u201cquoted\u201d  \nend \n",
    "large.txt": "line\n" * 5000,
}
CALLS: list[tuple[str, dict[str, Any]]] = [
    ("read_file", {"path": "a.txt"}),
    ("read_file", {"path": "a.txt", "start_line": 2, "end_line": 3, "append_loc": True}),
    ("read_file", {"path": "a.txt", "start_line": 9}),
    ("read_file", {"path": "large.txt"}),
    ("read_file", {"path": "large.txt", "end_line": 4999}),
    ("read_file", {"path": "none.txt"}),
    ("file_glob_search", {"path": "."}),
    ("file_glob_search", {"path": ".", "include": "*.txt", "exclude": "a*"}),
    ("file_glob_search", {"path": ".", "include": "deep/*.txt"}),
    ("file_glob_search", {"path": ".", "type": "dir"}),
    ("file_glob_search", {"path": "sub", "type": "all", "max_depth": 1}),
    ("file_glob_search", {"path": ".", "limit": 0}),
    ("file_glob_search", {"path": ".", "type": "bogus"}),
    ("file_glob_search", {"path": "none"}),
    ("grep_search", {"path": ".", "pattern": "tw."}),
    ("grep_search", {"path": "a.txt", "pattern": "TWO", "ignore_case": True, "return_line_numbers": True}),
    ("grep_search", {"path": "sub", "pattern": "f()", "literal": True, "context_lines": 1}),
    ("grep_search", {"path": "none", "pattern": "x"}),
    ("write_file", {"path": "new/e.txt", "content": "1\n2\n3\n"}),
    ("edit_file", {"path": "new/e.txt", "edits": [{"old_text": "2", "new_text": "two"}]}),
    ("edit_file", {"path": "loose.txt", "edits": [{"old_text": '"quoted"\n', "new_text": "q\n"}]}),
    ("edit_file", {"path": "new/e.txt", "edits": [{"old_text": "two", "new_text": "two"}]}),
    ("edit_file", {"path": "none.txt", "edits": [{"old_text": "a", "new_text": "b"}]}),
    ("read_file", {"path": "new/e.txt"}),
    ("read_file", {"path": "loose.txt"}),
]
REJECTED: list[tuple[str, dict[str, Any]]] = [
    ("read_file", {}),
    ("read_file", {"path": 5}),
    ("grep_search", {"path": "."}),
]


@pytest.fixture(scope="module")
def llama_server() -> Iterator[str]:
    model = ROOT / "models" / "stoker-demo.gguf"
    python = load_settings().runtimes_dir / "llama_server" / "bin" / "python"
    with subprocess.Popen([python, "-c", PROGRAM, model], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{process.stdout.readline().strip()}"
        process.kill()


def ask(url: str, cwd: Path, tool: str, params: dict[str, Any]) -> tuple[int, Any]:
    body = json.dumps({"tool": tool, "params": params}).encode()
    headers = {"Content-Type": "application/json", "x-tool-cwd": str(cwd)}
    try:
        with urllib.request.urlopen(urllib.request.Request(url + "/tools", body, headers)) as answer:
            return answer.status, json.loads(answer.read())
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read())


def comparable(answer: dict[str, Any]) -> dict[str, Any]:
    """The answer without `base` and the order of files, which in llama-server is that of the disk."""
    answer = {name: value for name, value in answer.items() if name != "base"}
    if "entries" in answer:
        answer["entries"] = sorted(answer["entries"], key=lambda entry: str(entry["path"]))
    if "Total matches" in answer.get("plain_text_response", ""):
        answer["plain_text_response"] = sorted(answer["plain_text_response"].splitlines())
    return answer


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    """The folders of llama-server and of the platform, with the same files."""
    made = (tmp_path / "llama", tmp_path / "tools" / "default")
    for folder in made:
        for name, text in FILES.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)
    return made


@pytest.fixture
def toolbox(folders: tuple[Path, Path]) -> Toolbox:
    tools = ToolSettings(enabled=("all",), write=("all",), directory=str(folders[1].parent))
    settings = replace(Settings(), tools=tools)
    return Toolbox(settings, McpServers(settings))


@pytest.mark.rule("llama-server/tools-call")
def test_calls_have_the_answers_of_llama_server(
    llama_server: str, folders: tuple[Path, Path], toolbox: Toolbox
) -> None:
    for tool, params in CALLS:
        status, theirs = ask(llama_server, folders[0], tool, params)
        ours = asyncio.run(toolbox.call("default", tool, params))
        assert status == 200
        if "edits[" in str(theirs.get("error")):  # its wording is its own
            assert {*ours} == {*theirs}
            continue
        assert comparable(ours) == comparable(theirs), (tool, params)
    for tool, params in REJECTED:
        assert ask(llama_server, folders[0], tool, params)[0] == 400
        with pytest.raises(InvalidRequest):
            asyncio.run(toolbox.call("default", tool, params))


@pytest.mark.rule("llama-server/tools-list")
def test_the_definitions_have_the_parameters_of_llama_server(llama_server: str) -> None:
    with urllib.request.urlopen(llama_server + "/tools") as answer:
        theirs = {tool["tool"]: tool for tool in json.loads(answer.read())}
    assert {*BUILTIN_TOOLS} - {*theirs} <= {"get_datetime"}  # newer versions have none
    for name in {*BUILTIN_TOOLS} & {*theirs}:
        ours, other = BUILTIN_TOOLS[name].described(), theirs[name]
        assert {*ours} == {*other}
        assert (ours["permissions"], ours["uses_cwd"]) == (other["permissions"], other["uses_cwd"])
        function, their_function = ours["definition"]["function"], other["definition"]["function"]
        assert {*function} == {*their_function}
        parameters, their_parameters = function["parameters"], their_function["parameters"]
        assert parameters["required"] == their_parameters["required"]
        types = {key: value["type"] for key, value in parameters["properties"].items()}
        assert types == {key: value["type"] for key, value in their_parameters["properties"].items()}
