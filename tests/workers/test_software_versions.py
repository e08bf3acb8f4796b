"""The versions that a worker reports when it registers."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from config.settings import ROOT
from config.version import version
from engines.environments.manifest import Manifest
from tests.support import nvml
from tests.support.waiting import scaled
from workers.software_versions import software_versions

SHOW = "import json; from pathlib import Path; from workers.software_versions import software_versions as v; "


def test_a_worker_on_the_cpu_reports_stoker_python_and_what_is_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    before = software_versions(tmp_path)
    assert (before["stoker"], before["python"], before["driver"]) == (
        version(),
        platform.python_version(),
        None,
    )
    folder = tmp_path / "vllm"
    folder.mkdir()
    Manifest("vllm", "cpu", "9.9", "3.12", "x", "x", "2026-01-01").write(folder)
    assert software_versions(tmp_path)["environments"] == {**before["environments"], "vllm": "9.9"}


def test_a_worker_with_a_gpu_reports_the_version_of_its_driver(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    driver = nvml.environment(nvml.compiled(tmp_path_factory.mktemp("nvml")))
    environ = {**os.environ, **driver, "CUDA_VISIBLE_DEVICES": "0", "PYTHONPATH": str(ROOT)}
    code = SHOW + f"print(json.dumps(v(Path({str(tmp_path)!r}))))"
    shown = subprocess.run(
        [sys.executable, "-c", code], env=environ, capture_output=True, check=True, timeout=scaled(60)
    )
    assert json.loads(shown.stdout)["driver"] == "570.00"
