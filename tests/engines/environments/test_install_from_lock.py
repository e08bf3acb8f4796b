"""Installing an environment from its lock, with the configured package index."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from engines.environments.install import install
from engines.environments.python import ENVIRONMENTS, interpreter
from engines.environments.request import InstallRequest


@pytest.mark.engines
@pytest.mark.timeout(600)
def test_ctranslate2_is_installed_from_its_lock_and_can_be_imported(tmp_path):
    environment = ENVIRONMENTS["ct2"]
    request = InstallRequest(environment, environment.variant("cpu"), tmp_path)

    made = install(request)

    assert made.version.startswith("4.8.")
    python = interpreter(tmp_path, "ct2", None)
    code = (
        "import ctranslate2 as ct2; print(ct2.__version__, *sorted(ct2.get_supported_compute_types('cpu')))"
    )
    ran = subprocess.run([python, "-I", "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.split()[0] == made.version
    assert "int8" in ran.stdout.split()
    assert not Path(request.runtimes, ".ct2.tmp").exists()
