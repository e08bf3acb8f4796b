"""The shared key of a running API process: checked at its start, and replaced without an interruption."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from config.errors import ConfigError
from config.settings import GovernanceSettings, Settings
from tests.api.approvals.lifecycle.conftest import Runner
from tests.support.gateway import Gateway
from tests.support.wsgi_answers import create_app


def test_a_key_that_cannot_be_used_stops_the_start_with_one_sentence(
    settings: Settings, gateway: Gateway, tmp_path: Path
) -> None:
    missing = tmp_path / "missing.key"
    with pytest.raises(ConfigError) as caught:
        create_app(replace(settings, governance=GovernanceSettings(op_token_key_path=missing)))
    assert str(caught.value) == (
        f"governance.op_token_key_path: {missing} does not exist: create the key, or correct the path"
    )

    gateway.path.write_text("short")
    with pytest.raises(ConfigError, match=r"has a key of 5 bytes: a key needs at least 32 random bytes"):
        create_app(settings)


@pytest.mark.rule("runner/op-token-hmac")
def test_a_key_is_replaced_while_the_platform_runs(
    start: Callable[[Settings], Runner], settings: Settings, tmp_path: Path
) -> None:
    folders = [tmp_path / name for name in ("gateway-1", "gateway-2", "keys")]
    for folder in folders:
        folder.mkdir(mode=0o700)
    first, second = Gateway(folders[0]), Gateway(folders[1])
    keys = folders[2]
    shutil.copy(first.path, keys / "first.key")
    runner = start(replace(settings, governance=GovernanceSettings(op_token_key_path=keys)))
    runner.fleet.register("w1")

    def status(gateway: Gateway) -> int:
        return runner.post("unload", gateway.unload("alpha")).status_code

    assert (status(first), status(second)) == (200, 403)
    shutil.copy(second.path, keys / "second.key")
    assert (status(first), status(second)) == (200, 200), "both are valid"
    (keys / "first.key").unlink()
    assert (status(first), status(second)) == (403, 200)
    (keys / "third.key").write_text("half a key")
    assert (status(first), status(second)) == (403, 200), "a broken change keeps the keys"
    (keys / "third.key").unlink()
    (keys / "second.key").unlink()
    answer = runner.post("unload", second.unload("alpha"))
    assert (answer.status_code, answer.json["error"]["code"]) == (403, "governance_not_configured")
