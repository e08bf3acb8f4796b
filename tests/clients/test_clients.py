"""Each client of docs/clients.md works against a running platform as its user expects."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.clients import environment
from tests.support.platform import Platform
from tests.support.waiting import scaled

pytestmark = [pytest.mark.clients, pytest.mark.journey, pytest.mark.timeout(300)]

PROGRAMS = sorted((Path(__file__).parent / "programs").glob("*_client.py"))
JAVASCRIPT = ("openai", "openai_media", "anthropic", "ai")


def results_of(platform: Platform, command: list[str], folder: Path) -> dict[str, Any]:
    """Run a program and return what it prints."""
    ran = subprocess.run(
        command,
        cwd=folder,
        env={
            **{name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")},
            "STOKER_URL": platform.url,
            "STOKER_API_KEY": platform.keys["api_key"],
        },
        capture_output=True,
        text=True,
        timeout=scaled(240),
        check=False,
    )
    assert ran.returncode == 0, ran.stderr[-4000:]
    result: dict[str, Any] = json.loads(ran.stdout.splitlines()[-1])
    return result


def check_results(result: dict[str, Any]) -> None:
    assert result["outcomes"].keys() == result["checks"].keys()
    failed = {name: text for name, text in result["outcomes"].items() if text}
    assert not failed, "\n\n".join(f"{name}: {text}" for name, text in failed.items())


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.stem.removesuffix("_client"))
def test_a_client_for_python_works_as_its_user_expects(platform: Platform, program: Path) -> None:
    environment.install_python()
    check_results(results_of(platform, [str(environment.PYTHON), str(program)], program.parent))


@pytest.mark.parametrize("program", JAVASCRIPT)
def test_a_client_for_javascript_works_as_its_user_expects(platform: Platform, program: str) -> None:
    if shutil.which("node") is None:
        pytest.skip("Node 20 is not installed")
    folder = environment.install_javascript()
    check_results(results_of(platform, ["node", f"{program}.mjs"], folder))
