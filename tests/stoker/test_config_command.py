"""`stoker config` checks the files of keys; other commands work without the platform's own variables.

A process that is refused at its start says so in the format of its log.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from config.settings import ROOT
from stoker.cli import cli
from tests.config.test_governance import THREE
from tests.conftest import ValkeyServer
from tests.support.answering_api import answering_api
from tests.support.waiting import scaled

pytestmark = pytest.mark.slow

GOVERNED = {"governance": {"admin": "governed", "signers": THREE}}


def run(folder: Path, *words: str, local: dict[str, Any] | None = None, **environ: str) -> Result:
    (folder / "local.json").write_text(json.dumps(local or {}))
    variables = {"STOKER_LOCAL": str(folder / "local.json"), "STOKER_DATA_DIR": str(folder), **environ}
    return CliRunner().invoke(cli, list(words), env=variables)


@pytest.mark.parametrize(
    ("content", "mode", "problem"),
    [
        (None, 0o600, "op-token.key"),
        ("short", 0o600, "at least 32 random bytes"),
        ("0123456789abcdef" * 4, 0o644, "chmod 600"),
    ],
)
def test_config_names_a_shared_key_that_cannot_be_used(
    tmp_path: Path, content: str | None, mode: int, problem: str
) -> None:
    key = tmp_path / "op-token.key"
    if content is not None:
        key.write_text(content)
        key.chmod(mode)
    result = run(tmp_path, "config", VERIFIED_OP_TOKEN_KEY_PATH=str(key))
    assert result.exit_code == 2, result.output
    assert "governance.op_token_key_path: " in result.stderr
    assert problem in result.stderr


def test_config_names_damaged_generated_keys(tmp_path: Path) -> None:
    (tmp_path / "keys.json").write_text("{")
    result = run(tmp_path, "config")
    assert (result.exit_code, "keys.json: is damaged" in result.stderr) == (2, True)


def test_config_accepts_a_shared_key_that_can_be_used(tmp_path: Path) -> None:
    key = tmp_path / "op-token.key"
    key.write_text("0123456789abcdef" * 4)
    key.chmod(0o600)
    result = run(tmp_path, "config", local=GOVERNED, VERIFIED_OP_TOKEN_KEY_PATH=str(key))
    assert result.exit_code == 0, result.output
    assert "0123456789abcdef" not in result.output


def test_a_command_works_in_a_shell_without_the_key_of_a_governed_platform(tmp_path: Path) -> None:
    with answering_api() as api:
        api.answers = {"/v1/admin/models": [(200, {"models": []})]}
        result = run(tmp_path, "status", local=GOVERNED, STOKER_URL=api.url, STOKER_ADMIN_KEY="sk-admin")
    assert result.exit_code == 0, result.output
    checked = run(tmp_path, "config", local=GOVERNED)
    assert (checked.exit_code, "nothing could approve model-load" in checked.stderr) == (2, True)


INVALID = {"log_format": "json", "queue": {"max_depth": -1}, "api": {"port": "many"}}


@pytest.mark.parametrize("local", [INVALID, {**INVALID, "log_format": "text"}])
@pytest.mark.parametrize("words", [("stoker", "api"), ("stoker", "worker"), ("api.processes",)])
@pytest.mark.rule("runner/env/LOG_FORMAT")
def test_a_refused_start_is_in_the_format_of_the_log(
    tmp_path: Path, words: tuple[str, ...], local: dict[str, Any]
) -> None:
    (tmp_path / "local.json").write_text(json.dumps(local))
    variables = {"STOKER_LOCAL": str(tmp_path / "local.json"), "STOKER_DATA_DIR": str(tmp_path)}
    lines = refusal_of(words, variables)
    if local["log_format"] == "json":
        records = [json.loads(line) for line in lines]
        assert {(record["level"], record["logger"]) for record in records} == {("critical", "stoker")}
        lines = [record["message"] for record in records]
        assert len(lines) == 2
    assert any("queue.max_depth must be" in line for line in lines)
    assert any("api.port must be" in line for line in lines)


def test_a_port_in_use_is_a_record_of_the_log(tmp_path: Path, shared_server: ValkeyServer) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        variables = {
            "STOKER_DATA_DIR": str(tmp_path),
            "REDIS_URL": shared_server.url,
            "STOKER_API__PORT": str(other.getsockname()[1]),
            "LOG_FORMAT": "json",
        }
        for words in (("stoker", "api"), ("api.processes",)):
            records = [json.loads(line) for line in refusal_of(words, variables)]
            assert "in use" in records[-1]["message"]


@pytest.mark.parametrize(
    "words", [("up", "--port", "x"), ("worker", "--name", "GPU 0"), ("api", "--no"), ("flower",)]
)
@pytest.mark.rule("runner/env/LOG_FORMAT")
def test_wrong_options_are_records_of_the_log(tmp_path: Path, words: tuple[str, ...]) -> None:
    variables = {"STOKER_DATA_DIR": str(tmp_path), "LOG_FORMAT": "json", "FLOWER_BASIC_AUTH": ""}
    (record,) = [json.loads(line) for line in refusal_of(("stoker", *words), variables)]
    assert record["level"] == "critical"


@pytest.mark.parametrize("cause", ["folder", "redis"])
@pytest.mark.rule("runner/env/LOG_FORMAT")
def test_a_start_that_fails_is_reported_in_the_format_of_the_log(tmp_path: Path, cause: str) -> None:
    variables = {"STOKER_DATA_DIR": str(tmp_path / "data"), "REDIS_URL": "redis://127.0.0.1:1/0"}
    if cause == "folder":
        (tmp_path / "data").write_text("a file where a folder has to be")
    for log_format in ("json", "text"):
        ended = ended_run(("stoker", "up", "--no-flower"), {**variables, "LOG_FORMAT": log_format})
        assert ended.returncode == 1
        if log_format == "json":
            (record,) = [json.loads(line) for line in ended.stderr.splitlines()]
            assert record["message"].startswith("stoker cannot start: ")
            assert "cannot start" not in ended.stdout
        else:
            assert ended.stderr == ""
            assert "stoker cannot start: " in ended.stdout


def refusal_of(words: tuple[str, ...], variables: dict[str, str]) -> list[str]:
    ended = ended_run(words, variables)
    assert ended.returncode != 0
    assert not ended.stdout
    return ended.stderr.splitlines()


def ended_run(words: tuple[str, ...], variables: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", *words],
        cwd=ROOT,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=scaled(60),
        check=False,
    )
