"""The stored schemas of zod's types are those of the installed zod."""

from __future__ import annotations

import json
import shutil
import subprocess

import pytest

from tests.clients import environment
from tests.support.tool_schemas import stored
from tests.support.waiting import scaled

pytestmark = [pytest.mark.clients, pytest.mark.timeout(300)]


def test_the_schemas_of_zod_are_those_of_its_installed_version() -> None:
    if shutil.which("node") is None:
        pytest.skip("Node 20 is not installed")
    folder = environment.install_javascript()
    command = ["node", "zod_schemas.mjs"]
    ran = subprocess.run(command, cwd=folder, capture_output=True, timeout=scaled(120), check=True)
    assert json.loads(ran.stdout) == stored("zod.json")
