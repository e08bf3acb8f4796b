"""A second Stoker as the remote server: what is behind its API is held to what any engine is."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from config.settings import ModelDefinition
from tests.backends.openai_remote.voices import StubVoice
from tests.support.platform import running_platform

pytestmark = pytest.mark.engines

KEY = "STOKER_TEST_REMOTE_KEY"
AT_ONCE = 32
THERE = {
    "backend": "stub",
    "enabled": True,
    "target_inflight": AT_ONCE,
    "prompt_format": "qwen3_template",
    "stub_tokens_per_s": 200,  # what comes at once is told at once: this one takes its time
}


@pytest.fixture(scope="module", autouse=True)
def second(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The other Stoker; its address is known to the class, its key to the environment."""
    folder, local = tmp_path_factory.mktemp("second"), {"models": {"there": THERE}}
    without_gpu = {"CUDA_VISIBLE_DEVICES": ""}
    with (
        running_platform(folder, local, "--port", "0", "--no-flower", environment=without_gpu) as running,
        pytest.MonkeyPatch.context() as patch,
    ):
        running.wait_state("there", "loaded")
        patch.setenv(KEY, running.keys["api_key"])
        patch.setattr(TestOpenAIRemote, "url", f"{running.url}/v1")
        yield


class TestOpenAIRemote(StubVoice):
    backend = "openai_remote"
    kind = "a second Stoker"
    takes = AT_ONCE
    url = ""

    def model(self, **fields: object) -> ModelDefinition:
        options = {
            "openai_remote_url": self.url,
            "openai_remote_model": "there",
            "openai_remote_key_variable": KEY,
            "openai_remote_thinking": True,
        }
        return ModelDefinition(
            "model", "openai_remote", prompt_format="qwen3_template", options=options, **fields
        )
