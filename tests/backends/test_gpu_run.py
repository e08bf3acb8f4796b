"""The exit code of `make test-gpu`, of pytest runs on small files of tests."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from config.settings import ROOT
from tests.support.waiting import scaled

pytestmark = pytest.mark.slow

HEAD = "import pytest\nfrom tests.backends.capabilities import not_applicable\n"
PASSES = "def test_a(): pass\n"
LACKS = "def test_b(): not_applicable('this backend ignores seeds')\n"
SKIPS = "def test_c(): pytest.skip('no NVIDIA GPU can be read here')\n"
SKIPS_AT_ITS_FIXTURE = "@pytest.fixture\ndef gpu(): pytest.skip('not installed')\ndef test_d(gpu): pass\n"
MARKED = "@pytest.mark.skip\ndef test_e(): pass\n"
FAILS = "def test_f(): assert 0\n"


CASES = {
    PASSES: 0,
    PASSES + LACKS: 0,
    PASSES + LACKS + SKIPS: 1,
    PASSES + SKIPS_AT_ITS_FIXTURE: 1,
    PASSES + MARKED: 1,
    PASSES + "pytest.skip('no module', allow_module_level=True)\n": 5,  # pytest: no tests collected
    PASSES + FAILS: 1,
    LACKS: 1,
}
"""The exit code of each file of tests."""

RUN = """
import sys
from tests.gpu.__main__ import run_tests
print("codes:", *(int(run_tests(["-q", path])) for path in sys.argv[1:]))
"""


def test_a_gpu_run_succeeds_when_all_tests_passed_that_apply(tmp_path: Path) -> None:
    files = [tmp_path / f"test_case_{number}.py" for number in range(len(CASES))]
    for file, tests in zip(files, CASES, strict=True):
        file.write_text(HEAD + tests)
    command = [sys.executable, "-c", RUN, *map(str, files)]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=scaled(120), check=False)
    codes = ran.stdout.rpartition("codes: ")[2].split()
    assert [int(code) for code in codes] == list(CASES.values()), ran.stdout + ran.stderr
