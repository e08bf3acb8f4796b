"""Codex itself works with a platform: over Responses, and over Ollama's API with `--oss`."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.clients import environment
from tests.support.platform import Platform
from tests.support.waiting import scaled

pytestmark = [pytest.mark.clients, pytest.mark.journey, pytest.mark.timeout(600)]

Run = Callable[..., list[dict[str, Any]]]
"""Runs `codex exec` with a prompt and further arguments. Returns the items that it reports as completed."""

CONFIGURATION = """
model_provider = "stoker"
model_context_window = 65536
check_for_update_on_startup = false
sandbox_mode = "danger-full-access"
approval_policy = "never"

[model_providers.stoker]
name = "Stoker"
base_url = "{url}/v1"
env_key = "STOKER_API_KEY"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0

[analytics]
enabled = false
"""
PATCH = "*** Begin Patch\n*** Add File: made.txt\n+a word\n*** End Patch\n"


@pytest.fixture(scope="session")
def program() -> Path:
    if shutil.which("npm") is None:
        pytest.skip("Node 20 is not installed")
    return environment.install_javascript("codex") / "node_modules" / ".bin" / "codex"


@pytest.fixture
def codex(platform: Platform, program: Path, tmp_path: Path) -> Run:
    home, work = tmp_path / "home", tmp_path / "work"
    home.mkdir()
    work.mkdir()
    (home / "config.toml").write_text(CONFIGURATION.format(url=platform.url))
    clean = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}

    def run(prompt: str, *arguments: str) -> list[dict[str, Any]]:
        ran = subprocess.run(
            [str(program), "exec", "--json", "--skip-git-repo-check", *arguments, prompt],
            cwd=work,
            env={
                **clean,
                "CODEX_HOME": str(home),
                "STOKER_API_KEY": platform.keys["api_key"],
                "CODEX_OSS_BASE_URL": f"{platform.url}/v1",
            },
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=scaled(120),
            check=False,
        )
        events = [json.loads(line) for line in ran.stdout.splitlines() if line.startswith("{")]
        assert ran.returncode == 0, ran.stdout[-2000:] + ran.stderr[-2000:]
        assert events[-1]["type"] == "turn.completed", events
        return [event["item"] for event in events if event["type"] == "item.completed"]

    return run


def calling(tool: str, **arguments: str) -> str:
    """A prompt after which the stub calls a tool once, and says one word then."""
    return f"/stub tokens=1 tool_call={tool} {json.dumps(arguments)}"


def texts(items: list[dict[str, Any]]) -> list[str]:
    return [item["text"] for item in items if item["type"] == "agent_message"]


def test_codex_prints_the_answer_of_a_model(codex: Run) -> None:
    """A question."""
    assert texts(codex("/stub tokens=2", "-m", "stub")) == ["tok0 tok1"]


def test_codex_runs_the_command_that_a_model_calls_for(codex: Run, tmp_path: Path) -> None:
    """A command that the model calls for, and its result."""
    items = codex(calling("exec_command", cmd="echo done > made.txt"), "-m", "stub")
    assert (tmp_path / "work" / "made.txt").read_text() == "done\n"
    assert len(texts(items)) == 2


def test_codex_starts_an_agent_by_a_function_in_a_namespace(codex: Run) -> None:
    """A function in a namespace."""
    items = codex(calling("multi_agent_v1__spawn_agent", message="Hi."), "-m", "stub")
    calls = [item for item in items if item["type"] == "collab_tool_call"]
    assert [(call["tool"], call["prompt"], call["status"]) for call in calls] == [
        ("spawn_agent", "Hi.", "completed")
    ]


def test_codex_applies_a_patch_of_a_custom_tool(codex: Run, tmp_path: Path) -> None:
    """A patch by a custom tool."""
    items = codex(calling("apply_patch", input=PATCH), "-m", "gpt-5.5")
    assert (tmp_path / "work" / "made.txt").read_text() == "a word\n"
    assert len(texts(items)) == 2


def test_codex_searches_for_tools_and_sends_what_it_has_found(codex: Run) -> None:
    """A search for tools, and its result."""
    assert len(texts(codex(calling("tool_search", query="start an agent"), "-m", "gpt-5.5"))) == 2


def test_codex_runs_a_script_by_a_tool_that_its_input_adds(codex: Run, tmp_path: Path) -> None:
    """A script by a tool that the input adds."""
    script = 'await tools.exec_command({cmd: "echo done > made.txt"})'
    codex(calling("functions__exec", input=script), "-m", "gpt-6-sol")
    assert (tmp_path / "work" / "made.txt").read_text() == "done\n"


def test_codex_finds_and_uses_a_model_over_ollamas_api(codex: Run, tmp_path: Path) -> None:
    """`--oss`: a command, and a question."""
    oss = ("--oss", "--local-provider", "ollama", "-m")
    codex(calling("exec_command", cmd="echo done > made.txt"), *oss, "stub")
    assert (tmp_path / "work" / "made.txt").read_text() == "done\n"
    assert texts(codex("/stub tokens=2", *oss, "stub")) == ["tok0 tok1"]
