"""Mutation tests of the Lua scripts: do the ledger's tests detect planted bugs?

    python -m tests.scheduler.mutants              run all mutants and print a result for each
    python -m tests.scheduler.mutants name ...     run some of them

`mutants.txt` lists them: name and Lua file, the text to remove (-), the text to insert (+), and for an
equivalent mutant the reason why no test can detect it (=). For each mutant the ledger's tests and the state
machine run in a process of their own, up to the first failure. The default test run only checks that each
text still occurs once.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from config.settings import ROOT

LIST = Path(__file__).with_name("mutants.txt")
VARIABLE = "STOKER_MUTANT"
SUITE = (
    "../api/inference/conversations",
    *(
        "test_ledger.py",
        "test_bytes.py",
        "test_claims.py",
        "test_job_end.py",
        "test_token_reports.py",
        "test_expiry.py",
        "test_deferred_work.py",
        "test_worker_loss.py",
        "test_drain.py",
    ),
    "test_resumable.py",
    "test_locality.py",
    "test_warm_jobs.py",
    "test_delayed_jobs.py",
    "test_moved_chats.py",
    "test_slots.py",
    "test_background_reserve.py",
    "test_rate_limits.py",
    "test_budgets.py",
    "test_limit_use.py",
    "test_batches.py",
    "test_rejection_log.py",
    "test_request_history.py",
    "test_request_texts.py",
    *(
        "test_engine_loss.py",
        "test_fairness.py",
        "test_replica_choice.py",
        "test_time_limits.py",
        "test_service_rate.py",
        "test_queue_view.py",
        "test_job_listing.py",
        "test_queue_choice.py",
        "../fleet",
        "../governance/proposals",
    ),
    "test_ledger_state.py",
)
LIMIT_S = 300
REQUIRED_SHARE = 0.9


@dataclass(frozen=True)
class Mutant:
    """A planted bug. `equivalent`: the reason why it changes no behaviour, or an empty string."""

    name: str
    path: Path
    old: str
    new: str
    equivalent: str

    def plant(self, text: str) -> str:
        """Return the source with the bug. Raises `ValueError` unless the old text occurs exactly once."""
        if text.count(self.old) != 1:
            raise ValueError(f"{self.name}: its text occurs {text.count(self.old)} times in {self.path}")
        return text.replace(self.old, self.new)


def read() -> list[Mutant]:
    """Read all mutants."""
    mutants = []
    for block in LIST.read_text().strip().split("\n\n"):
        first, *lines = [line for line in block.splitlines() if not line.startswith("#")]
        name, file = first.split()
        parts = {mark: [line[2:] for line in lines if line[0] == mark] for mark in "-+="}
        old, new, reason = "\n".join(parts["-"]), "\n".join(parts["+"]), " ".join(parts["="])
        mutants.append(Mutant(name, ROOT / file, old, new, reason))
    return mutants


# ---- in the process that runs the suite, as a pytest plugin


def pytest_configure() -> None:
    """Plant the bug before a script is read."""
    from store import script_text

    mutant = next(one for one in read() if one.name == os.environ[VARIABLE])

    def text(path: Path) -> str:
        return mutant.plant(path.read_text()) if path == mutant.path else path.read_text()

    script_text.read = text


# ---- in the process that runs all mutants


@dataclass(frozen=True)
class MutantResult:
    """The result for a mutant: `by` is the test that failed, or ''."""

    mutant: Mutant
    by: str
    seconds: float

    def __str__(self) -> str:
        word = "killed" if self.by else "equal" if self.mutant.equivalent else "SURVIVED"
        return f"{word:8} {self.seconds:5.1f} s  {self.mutant.name:46} {self.by or self.mutant.equivalent}"


def run_mutant(mutant: Mutant) -> MutantResult:
    """Run the suite against one mutant."""
    suite = [str(Path(__file__).parent / name) for name in SUITE]
    command = [sys.executable, "-m", "pytest", "-xq", "--no-header", "-p", "tests.scheduler.mutants", *suite]
    environment = {**os.environ, VARIABLE: mutant.name}
    began = time.monotonic()
    try:
        run = subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=LIMIT_S, check=False
        )
    except subprocess.TimeoutExpired:
        return MutantResult(mutant, "(the suite hung)", LIMIT_S)
    failed = [line for line in run.stdout.splitlines() if line.startswith("FAILED")]
    by = failed[0].split("::")[1].split(" - ")[0] if failed else ""
    if run.returncode and not failed:
        raise RuntimeError(f"{mutant.name}: the suite did not run: {run.stdout[-2000:]}{run.stderr[-2000:]}")
    return MutantResult(mutant, by, time.monotonic() - began)


def main(names: list[str]) -> int:
    """Run the mutants, two at a time, and print a result for each."""
    results = []
    with ThreadPoolExecutor(max_workers=2) as pool:
        for result in pool.map(
            run_mutant, [mutant for mutant in read() if not names or mutant.name in names]
        ):
            print(result, flush=True)
            results.append(result)
    real = [result for result in results if not result.mutant.equivalent]
    killed = sum(bool(result.by) for result in real)
    equal = len(results) - len(real)
    print(f"\n{killed} of {len(real)} killed ({killed / len(real):.0%}); {equal} more are equivalent")
    return 0 if killed >= REQUIRED_SHARE * len(real) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
