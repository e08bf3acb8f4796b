"""`python -m tests.gpu` (`make test-gpu`): install what is missing for the GPU, and run its tests.

Ends with 0 only when all of them ran and passed: what is skipped here has not been seen.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.gpu.cards import Cards
from tests.gpu.conftest import BACKENDS
from workers.nvml import DriverError


class Outcome:
    """Counts what became of the tests."""

    def __init__(self) -> None:
        self.passed = self.skipped = 0

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.passed += report.when == "call" and report.passed
        self.skipped += report.skipped


def why_not() -> str | None:
    """Why there is no use in trying; None when there is."""
    try:
        return None if Cards().all() else "the NVIDIA driver here has no GPU"
    except DriverError as error:
        return f"no NVIDIA GPU can be read here: {error}"


def install() -> None:
    """With the network, or with wheels: pip's own variables (PIP_FIND_LINKS, PIP_NO_INDEX) say where from."""
    command = [sys.executable, "-m", "stoker", "runtimes", "install", *BACKENDS, "--variant", "cuda"]
    subprocess.run(command, check=True)


def main() -> int:
    if (reason := why_not()) is not None:
        print(reason, file=sys.stderr)
        return 1
    install()
    outcome = Outcome()
    code = pytest.main(["-m", "gpu", "tests/gpu", *sys.argv[1:]], plugins=[outcome])
    if code == 0 and (outcome.skipped or not outcome.passed):
        print(f"{outcome.passed} passed, and {outcome.skipped} were not run", file=sys.stderr)
        return 1
    return int(code)


if __name__ == "__main__":
    sys.exit(main())
