"""`python -m tests.gpu` (`make test-gpu`): install the GPU variants of the backends, and run the tests.

The exit code is 0 only when all tests passed that apply to the backends: a test that is skipped for another
reason, such as a missing driver or runtime, counts as a failure.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence

import pytest

from engines.nvml import DriverError
from tests.backends.capabilities import NOT_APPLICABLE
from tests.gpu.cards import Cards
from tests.gpu.conftest import BACKENDS


class Counter:
    """A pytest plugin that counts passed tests, and skipped ones except those that do not apply."""

    def __init__(self) -> None:
        self.passed = self.skipped = 0

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.passed += report.when == "call" and report.passed
        self.skipped += report.skipped and NOT_APPLICABLE not in report.longreprtext

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        self.skipped += report.skipped


def obstacle() -> str | None:
    """The reason why no test can run; None when they can."""
    try:
        return None if Cards().all() else "the NVIDIA driver here has no GPU"
    except DriverError as error:
        return f"no NVIDIA GPU can be read here: {error}"


def install() -> None:
    """Install the backends from the source that pip's own variables name (PIP_FIND_LINKS, PIP_NO_INDEX)."""
    command = [sys.executable, "-m", "stoker", "runtimes", "install", *BACKENDS, "--variant", "cuda"]
    subprocess.run(command, check=True)


def run_tests(arguments: Sequence[str]) -> int:
    """Run pytest. Returns its exit code, but 1 when no test passed or one was skipped that applies."""
    counter = Counter()
    code = pytest.main([*arguments], plugins=[counter])
    if code == 0 and (counter.skipped or not counter.passed):
        print(f"{counter.passed} passed, and {counter.skipped} were skipped", file=sys.stderr)
        return 1
    return int(code)


def main() -> int:
    if (reason := obstacle()) is not None:
        print(reason, file=sys.stderr)
        return 1
    install()
    return run_tests(["-m", "gpu", "tests/gpu", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
