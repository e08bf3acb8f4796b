"""The pause before a model may be loaded again."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest
import redis

from config.settings import GovernanceSettings, Settings
from fleet.errors import CoolingDown
from fleet.load_request import AS_CONFIGURED
from fleet.plan import plan_load
from tests.support.simulated_platform import SimulatedPlatform

PAUSE_S = 60.0


@pytest.fixture
def cooling(client: redis.Redis, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> SimulatedPlatform:
    """A platform with a pause of a minute, at most four."""
    monkeypatch.setattr("fleet.cooldown.MAX_COOLDOWN_S", 4 * PAUSE_S)
    governance = GovernanceSettings(cooldown_s=PAUSE_S)
    platform = SimulatedPlatform(client, replace(settings, governance=governance))
    platform.register("w1")
    return platform


def unload(platform: SimulatedPlatform, name: str = "alpha") -> None:
    platform.finish_unload(platform.fleet.unload(name))


def wait_s(platform: SimulatedPlatform, name: str = "alpha") -> int:
    """How long a load of the model has to wait, as its refusal says."""
    with pytest.raises(CoolingDown) as refused:
        platform.fleet.load(name)
    assert refused.value.retry_after_s is not None
    return refused.value.retry_after_s


def advance(platform: SimulatedPlatform, seconds: float) -> None:
    platform.run_for(seconds, "w1", every=min(seconds, 4.0))


def test_a_model_may_be_loaded_again_when_the_pause_is_over(cooling: SimulatedPlatform) -> None:
    cooling.load("alpha")
    began = time.monotonic()

    def about(seconds: float) -> object:
        """These seconds, give or take one and the time that the test itself has taken."""
        return pytest.approx(seconds, abs=1 + time.monotonic() - began)

    unload(cooling)
    wait = wait_s(cooling)
    assert wait == about(PAUSE_S)
    advance(cooling, PAUSE_S - 10)
    wait = wait_s(cooling)
    assert wait == about(10)
    advance(cooling, 10)
    cooling.load("alpha")


def test_a_refused_load_changes_nothing_and_a_loaded_model_answers_with_its_operation(
    cooling: SimulatedPlatform,
) -> None:
    cooling.load("alpha")
    assert not cooling.fleet.load("alpha").begun
    unload(cooling)
    wait_s(cooling)
    assert cooling.model("alpha") == "unloaded"
    cooling.load("beta")  # another model


def test_the_pause_doubles_up_to_the_longest_and_is_forgotten_after_a_quiet_time(
    cooling: SimulatedPlatform,
) -> None:
    pauses = []
    for _ in range(4):
        cooling.load("alpha")
        unload(cooling)
        pauses.append(wait_s(cooling))
        advance(cooling, pauses[-1] + 1)
    assert pauses == pytest.approx([60, 120, 240, 240], abs=1)
    advance(cooling, 300)
    cooling.load("alpha")
    unload(cooling)
    assert wait_s(cooling) == pytest.approx(PAUSE_S, abs=1)


def test_a_restart_and_an_unload_are_free(cooling: SimulatedPlatform) -> None:
    (replica,) = cooling.load("alpha")
    cooling.crash(replica)
    advance(cooling, 2)
    outcome = cooling.recovery.reload("alpha")
    assert outcome.begun
    cooling.finish_load(outcome)
    unload(cooling)


def test_a_start_of_the_platform_forgets_the_pause(cooling: SimulatedPlatform) -> None:
    cooling.load("alpha")
    unload(cooling)
    cooling.fleet.reset_to_configuration()
    cooling.register("w1")
    cooling.load("alpha")


def test_a_plan_names_the_pause_as_the_problem(cooling: SimulatedPlatform) -> None:
    cooling.load("alpha")
    unload(cooling)
    plan = plan_load(cooling.fleet, cooling.fleet.definition("alpha"), AS_CONFIGURED)
    assert plan.shown["problem"]["code"] == "cooling_down"
    assert not plan.shown["begins"]


def test_the_pause_costs_no_command_when_it_is_off(platform: SimulatedPlatform) -> None:
    platform.load("alpha")
    platform.finish_unload(platform.fleet.unload("alpha"))
    platform.load("alpha")
    assert not platform.client.exists(f"{platform.prefix}cooldown:alpha")
