"""The platform that most journeys share, and its models with the stub backend."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator

import openai
import pytest

from tests.support.platform import Platform, running_platform
from tests.support.webhook_receiver import ReceiverThread

STUBS = {
    "stub": {
        "backend": "stub",
        "enabled": True,
        "target_inflight": 8,
        "stub_image_input": True,
        "stub_lora": {"pirate": "models/demo"},
    },
    "slow": {
        "backend": "stub",
        "enabled": True,
        "target_inflight": 2,
        "stub_tokens_per_s": 20,
        "stub_tokens": 200,
    },
    "later": {"backend": "stub", "target_inflight": 4, "replica_max": 2, "stub_load_s": 1.6},
    "broken": {"backend": "stub", "stub_load_fail": "no such weights"},
    "gguf": {
        "backend": "llama_cpp",
        "model_path": "models/stoker-demo.gguf",
        "prompt_format": "gemma4_template",
    },
}
ON_THE_CPU = {"CUDA_VISIBLE_DEVICES": ""}


WEBHOOK_SECRET = "whsec_" + b64encode(bytes(range(32))).decode()


@pytest.fixture(scope="session")
def webhooks() -> Iterator[ReceiverThread]:
    """Receives the webhooks of the shared platform's tenant `default`."""
    with ReceiverThread() as receiver:
        yield receiver


@pytest.fixture(scope="session")
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
        for name in ("stub", "slow", "stoker-demo"):
            platform.wait_state(name, "loaded", 60)
        yield platform


@pytest.fixture
def sdk(shared: Platform) -> Iterator[openai.OpenAI]:
    with shared.sdk() as client:
        yield client
