"""The exit code of `make test-gpu`, of pytest runs on small files of tests."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from config.settings import ROOT
from tests.support.waiting import scaled

HEAD = "import pytest\nfrom tests.backends.capabilities import not_applicable\n"
PASSES = "def test_a(): pass\n"
LACKS = "def test_b(): not_applicable('this backend ignores seeds')\n"
SKIPS = "def test_c(): pytest.skip('no NVIDIA GPU can be read here')\n"
SKIPS_AT_ITS_FIXTURE = "@pytest.fixture\ndef gpu(): pytest.skip('not installed')\ndef test_d(gpu): pass\n"
MARKED = "@pytest.mark.skip\ndef test_e(): pass\n"
FAILS = "def test_f(): assert 0\n"


@pytest.mark.parametrize(
    ("tests", "code"),
    [
        (PASSES, 0),
        (PASSES + LACKS, 0),
        (PASSES + LACKS + SKIPS, 1),
        (PASSES + SKIPS_AT_ITS_FIXTURE, 1),
        (PASSES + MARKED, 1),
        (PASSES + "pytest.skip('no module', allow_module_level=True)\n", 5),  # pytest: no tests collected
        (PASSES + FAILS, 1),
        (LACKS, 1),
    ],
)
def test_a_gpu_run_succeeds_when_all_tests_passed_that_apply(tmp_path: Path, tests: str, code: int) -> None:
    file = tmp_path / "test_small.py"
    file.write_text(HEAD + tests)
    run = f"import sys; from tests.gpu.__main__ import run_tests; sys.exit(run_tests(['-q', {str(file)!r}]))"
    ran = subprocess.run(
        [sys.executable, "-c", run],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=scaled(60),
        check=False,
    )
    assert ran.returncode == code, ran.stdout + ran.stderr
