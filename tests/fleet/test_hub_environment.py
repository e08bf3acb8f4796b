"""What the processes that talk to a hub get of the environment."""

from __future__ import annotations

from fleet.hub_environment import hub_environment


def test_the_environment_has_the_token_of_the_hub_and_no_secret_of_the_platform() -> None:
    given = {"STOKER_ADMIN_KEY": "x", "REDIS_URL": "y", "HF_TOKEN": "z", "PATH": "/bin", "HF_HOME": "/hf"}
    passed = hub_environment(given)
    assert not passed.keys() & {"STOKER_ADMIN_KEY", "REDIS_URL"}
    assert passed["HF_TOKEN"] == "z"
    assert passed["HF_HOME"] == "/hf"
