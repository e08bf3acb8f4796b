"""The section `tools`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from config.errors import ConfigError
from config.load import load_settings
from config.settings import McpServer, Settings
from stoker.cli import cli


def load(folder: Path, tools: dict[str, Any], environ: dict[str, str] | None = None) -> Settings:
    (folder / "settings.json").write_text(json.dumps({"tools": tools}))
    return load_settings(folder, environ or {})


def test_tools_are_off_by_default(tmp_path: Path) -> None:
    tools = load(tmp_path, {}).tools
    assert (tools.enabled, tools.write, tools.mcp_servers) == ((), (), {})


def test_servers_are_programs_or_addresses(tmp_path: Path) -> None:
    servers = {
        "git": {"command": "uvx", "args": ["mcp-server-git"], "env": {"A": "b"}, "pass_env": ["TOKEN"]},
        "web": {"url": "https://mcp.example.com/mcp", "secret_variable": "TOKEN", "tenants": ["one"]},
    }
    tools = load(tmp_path, {"enabled": ["all"], "write": ["one"], "mcp_servers": servers}).tools
    assert tools.mcp_servers == {
        "git": McpServer(command="uvx", args=("mcp-server-git",), env={"A": "b"}, pass_env=("TOKEN",)),
        "web": McpServer(url="https://mcp.example.com/mcp", secret_variable="TOKEN", tenants=("one",)),
    }


@pytest.mark.parametrize(
    ("tools", "problem"),
    [
        ({"enabled": ["exec_shell_command"]}, "tools.enabled must be a list of get_datetime, read_file"),
        ({"directory": "relative"}, "tools.directory must be an absolute path or null"),
        ({"mcp_servers": {"a_b": {"command": "x"}}}, "tools.mcp_servers.a_b is not a valid name"),
        ({"mcp_servers": {"a": {}}}, "tools.mcp_servers.a needs a command (a program) or a url"),
        (
            {"mcp_servers": {"a": {"command": "x", "url": "http://x/"}}},
            "tools.mcp_servers.a needs a command (a program) or a url",
        ),
        (
            {"mcp_servers": {"a": {"url": "http://x/", "args": []}}},
            "tools.mcp_servers.a.args does not belong to a server with a url",
        ),
        ({"mcp_servers": {"a": {"url": "file:///etc/passwd"}}}, "tools.mcp_servers.a.url must be an http or"),
        ({"mcp_servers": {"a": {"comand": "x"}}}, "tools.mcp_servers.a.comand is not a known field"),
    ],
)
def test_a_wrong_setting_is_one_sentence(tmp_path: Path, tools: dict[str, Any], problem: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, tools)
    assert any(f"settings.json: {problem}" in line for line in caught.value.problems), caught.value.problems


def test_the_command_config_shows_no_secret_of_a_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    servers = {
        "a": {"command": "x", "env": {"KEY": "sk-secret"}},
        "b": {"url": "https://example.com/sk-secret/mcp"},
    }
    (tmp_path / "local.json").write_text(json.dumps({"tools": {"mcp_servers": servers}}))
    monkeypatch.setenv("STOKER_LOCAL", str(tmp_path / "local.json"))
    monkeypatch.setenv("STOKER_DATA_DIR", str(tmp_path))
    shown = CliRunner().invoke(cli, ["config"])
    assert shown.exit_code == 0, shown.output
    assert "sk-secret" not in shown.output
    assert json.loads(shown.output)["tools"]["mcp_servers"]["b"]["url"].startswith("https://example.com")
