"""A second Stoker as the remote server: it fulfils the contract of every engine."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from config.settings import ModelDefinition
from tests.backends.contract_models import StubContract
from tests.support.platform import running_platform

pytestmark = pytest.mark.engines

KEY = "STOKER_TEST_REMOTE_KEY"
AT_ONCE = 32
SECOND_MODEL = {
    "backend": "stub",
    "enabled": True,
    "target_inflight": AT_ONCE,
    "prompt_format": "qwen3_template",
    "stub_tokens_per_s": 200,  # without a rate, the whole answer would arrive in one delta
}


@pytest.fixture(scope="module", autouse=True)
def second(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A second platform; its URL is set on the test class, its key in the environment."""
    folder, local = tmp_path_factory.mktemp("second"), {"models": {"there": SECOND_MODEL}}
    without_gpu = {"CUDA_VISIBLE_DEVICES": ""}
    with (
        running_platform(folder, local, "--port", "0", "--no-flower", environment=without_gpu) as running,
        pytest.MonkeyPatch.context() as patch,
    ):
        running.wait_state("there", "loaded")
        patch.setenv(KEY, running.keys["api_key"])
        patch.setattr(TestOpenAIRemote, "url", f"{running.url}/v1")
        yield


class TestOpenAIRemote(StubContract):
    backend = "openai_remote"
    kind = "a second Stoker"
    names_stops = False  # Chat Completions have no place for it
    slots_to_fill = AT_ONCE
    owns_cache = drops_namespaces = False  # it is the server's; after a flush no request names it any more
    url = ""

    def model(self, **fields: object) -> ModelDefinition:
        options = {
            "openai_remote_url": self.url,
            "openai_remote_model": "there",
            "openai_remote_key_variable": KEY,
            "openai_remote_thinking": True,
            "openai_remote_further_sampling": True,
        }
        return ModelDefinition(
            "model", "openai_remote", prompt_format="qwen3_template", options=options, **fields
        )
