"""Conversations over several replicas of a real engine: each turn reuses what those before have computed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from config.load import load_settings
from tests.journeys.conftest import ON_THE_CPU
from tests.support.platform import ROOT, Platform, running_platform

pytestmark = [pytest.mark.engines, pytest.mark.journey, pytest.mark.timeout(300)]

CONVERSATIONS, TURNS = 7, 5  # 8 would come back to the same replica of 4 by turns, too
REPLICAS = {
    "backend": "llama_server",
    "model_path": str(ROOT / "models" / "stoker-demo.gguf"),
    "enabled": True,
    "replicas": 4,
    "replica_max": 4,
    "target_inflight": 4,
    "llama_server_n_ctx": 2048,
    "llama_server_threads": 1,
}


@pytest.fixture(scope="module")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    local = {
        "models": {
            "warm": REPLICAS,
            "turns": {**REPLICAS, "locality": "off"},
            "stoker-demo": {"enabled": False},
        }
    }
    folder = tmp_path_factory.mktemp("locality")
    environment = {**ON_THE_CPU, "STOKER_RUNTIMES_DIR": str(load_settings().runtimes_dir)}
    with running_platform(folder, local, "--port", "0", "--no-flower", environment=environment) as platform:
        for model in ("warm", "turns"):
            platform.wait_state(model, "loaded", 120)
        yield platform


def reused(platform: Platform, model: str) -> float:
    """The share of the prompt's tokens that were not computed again, from the second turn on."""
    chats: list[list[dict[str, Any]]] = [
        [{"role": "system", "content": f"This is the conversation with the number {number}."}]
        for number in range(CONVERSATIONS)
    ]
    tokens = cached = 0
    for turn in range(TURNS):
        for number, chat in enumerate(chats):
            chat.append({"role": "user", "content": f"What is {turn} and {number}? " + "Tell me more. " * 6})
            status, answer = platform.call(
                "POST",
                "/v1/chat/completions",
                {"model": model, "messages": chat, "max_tokens": 4, "temperature": 0},
            )
            assert status == 200, answer
            chat.append({"role": "assistant", "content": answer["choices"][0]["message"]["content"] or "-"})
            if turn:
                tokens += answer["usage"]["prompt_tokens"]
                cached += answer["usage"]["prompt_tokens_details"]["cached_tokens"]
    return cached / tokens


def test_turns_of_a_conversation_go_where_its_prompt_was_computed(platform: Platform) -> None:
    warm, turns = reused(platform, "warm"), reused(platform, "turns")
    print(f"reused with locality {warm:.2f}, without {turns:.2f}")
    assert warm > 0.6
    assert warm > turns + 0.2
