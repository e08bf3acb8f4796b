"""Every invariant of the ledger holds in any order of events; see `ledger_machine.py`."""

from __future__ import annotations

import os

import pytest
import redis
from hypothesis import HealthCheck
from hypothesis import settings as profile
from hypothesis.stateful import run_state_machine_as_test

from config.settings import Settings
from tests.scheduler import fleet_events, job_events  # noqa: F401 - they register their events
from tests.scheduler.ledger_machine import BUDGETS, LedgerMachine
from tests.scheduler.mutants import VARIABLE
from tests.support.small_steps import make_steps_small


@pytest.mark.slow
@pytest.mark.timeout(7200)
def test_every_invariant_holds_in_any_order_of_events(
    client: redis.Redis, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_steps_small(monkeypatch)
    budget = BUDGETS["mutant" if VARIABLE in os.environ else os.environ.get("HYPOTHESIS_PROFILE", "default")]
    run_state_machine_as_test(
        lambda: LedgerMachine(client, settings, monkeypatch),
        settings=profile(
            deadline=None,
            database=None,
            print_blob=True,
            suppress_health_check=list(HealthCheck),
            **budget,  # type: ignore[arg-type]
        ),
    )
