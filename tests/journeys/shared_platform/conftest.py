"""The platform that these journeys share, which ends with the last of them."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator

import openai
import pytest

from tests.journeys.conftest import ON_THE_CPU, STUBS
from tests.support.platform import Platform, running_platform
from tests.support.webhook_receiver import ReceiverThread

WEBHOOK_SECRET = "whsec_" + b64encode(bytes(range(32))).decode()


@pytest.fixture(scope="package")
def webhooks() -> Iterator[ReceiverThread]:
    """Receives the webhooks of the shared platform's tenant `default`."""
    with ReceiverThread() as receiver:
        yield receiver


@pytest.fixture(scope="package")
def shared(tmp_path_factory: pytest.TempPathFactory, webhooks: ReceiverThread) -> Iterator[Platform]:
    """One platform for all journeys that leave it as they found it."""
    target = {"tenant": "default", "url": webhooks.url, "secret_variable": "HOOK_SECRET"}
    local = {
        "models": STUBS,
        "webhooks": {"allowed_hosts": ["127.0.0.1"], "allow_private": True, "targets": {"hook": target}},
    }
    with running_platform(
        tmp_path_factory.mktemp("up"),
        local,
        "--port",
        "0",
        environment={**ON_THE_CPU, "HOOK_SECRET": WEBHOOK_SECRET},
    ) as platform:
        for name in ("stub", "slow", "scribe", "painter", "voice", "listener", "stoker-demo"):
            platform.wait_state(name, "loaded", 60)
        yield platform


@pytest.fixture
def sdk(shared: Platform) -> Iterator[openai.OpenAI]:
    with shared.sdk() as client:
        yield client
