"""Conversations over four replicas on two workers, of which one is drained and an engine is killed.

The stub reuses the words of a prompt that its own process has had before, as engines reuse a prefix.
"""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.support.platform import Platform, running_platform

pytestmark = [pytest.mark.journey, pytest.mark.slow, pytest.mark.timeout(300)]

QUAD = {"backend": "stub", "target_inflight": 4, "replica_max": 4, "stub_tokens": 8}
CHATS = 16


class Replicas:
    """What Redis has of the replicas: one client, since finding its address looks at all processes."""

    def __init__(self, platform: Platform) -> None:
        self._client = platform.redis()

    def of_job(self, id: str) -> str:
        return self._read(f"job:{id}", "replica")

    def worker(self, replica: str) -> str:
        """The worker of a replica; empty if it is gone."""
        return self._read(f"replica:{replica}", "worker")

    def pid(self, replica: str) -> int:
        return int(self._read(f"replica:{replica}", "pid"))

    def _read(self, key: str, name: str) -> str:
        value = self._client.hget(f"{{stoker}}:{key}", name)
        return value.decode() if isinstance(value, bytes) else ""


@pytest.fixture
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    with running_platform(
        tmp_path_factory.mktemp("moves"),
        {"models": {"quad": QUAD}},
        *("--port", "0", "--no-flower"),
        environment={"CUDA_VISIBLE_DEVICES": ""},
    ) as platform:
        yield platform


@dataclass
class Chat:
    """A conversation whose turns continue the response before, or send the whole history."""

    number: int
    all_replicas: Replicas
    items: list[Any] = field(default_factory=list)
    previous: str | None = None
    replicas: list[str] = field(default_factory=list)

    def turn(self, platform: Platform) -> tuple[int, int]:
        """Send the next turn; returns the tokens of its prompt, and how many of them were reused."""
        turn = len(self.replicas)
        new = {"role": "user", "content": f"Turn {turn} of {self.number}: " + "tell me more, " * 20}
        body: dict[str, Any] = {
            "model": "quad",
            "instructions": f"Conversation {self.number}. " + "Be brief and exact. " * 20,
        }
        if turn % 2 and self.previous:
            body |= {"input": [new], "previous_response_id": self.previous}
        else:
            body["input"] = [*self.items, new]
        status, answer = platform.call("POST", "/v1/responses", body)
        assert status == 200, answer
        self.items += [new, *answer["output"]]
        self.previous = answer["id"]
        self.replicas.append(self.all_replicas.of_job(answer["id"]))
        usage = answer["usage"]
        return usage["input_tokens"], usage["input_tokens_details"]["cached_tokens"]


def turn(platform: Platform, chats: list[Chat]) -> float:
    """A turn of each chat; returns the share of the prompts' tokens that were reused."""
    counts = [chat.turn(platform) for chat in chats]
    return sum(reused for _, reused in counts) / sum(tokens for tokens, _ in counts)


def replicas_of(chats: list[Chat]) -> Counter[str]:
    return Counter(chat.replicas[-1] for chat in chats)


def check_move(platform: Platform, chats: list[Chat], gone: set[str], former: float) -> None:
    """The chats on the replicas that are `gone` spread over the others, stay there, and reuse as before."""
    moved = [chat for chat in chats if chat.replicas[-1] in gone]
    assert moved
    others = [chat for chat in chats if chat not in moved]
    homes = [chat.replicas[-1] for chat in others]
    turn(platform, chats)
    assert [chat.replicas[-1] for chat in others] == homes
    spread = replicas_of(moved)
    assert not gone & set(spread)
    assert max(spread.values()) <= len(moved) / len(set(homes)) + 2
    turn(platform, chats)
    assert all(chat.replicas[-1] == chat.replicas[-2] for chat in chats), "the next turn follows"
    assert turn(platform, chats) >= 0.95 * former


def test_chats_of_a_drained_worker_and_of_a_killed_engine_move_without_a_herd(platform: Platform) -> None:
    with platform.further_worker("cpu1"):
        platform.admin("POST", "/v1/admin/models/quad/load", {"replicas": 4})
        platform.wait_state("quad", "loaded")
        replicas = Replicas(platform)
        chats = [Chat(number, replicas) for number in range(CHATS)]
        reused = [turn(platform, chats) for _ in range(4)]
        homes = replicas_of(chats)
        assert set(homes.values()) == {CHATS / 4}
        assert all(set(chat.replicas) == {chat.replicas[0]} for chat in chats)
        assert reused[-1] > 0.7

        status, _ = platform.admin("POST", "/v1/admin/workers/cpu1/drain")
        assert status == 200
        drained = {name for name in homes if replicas.worker(name) == "cpu1"}
        assert len(drained) == 2
        check_move(platform, chats, drained, reused[-1])

        status, _ = platform.admin("DELETE", "/v1/admin/workers/cpu1/drain")
        assert status == 200
        left = replicas_of(chats)
        turn(platform, chats)
        assert replicas_of(chats) == left, "they stay where they went"

        killed = next(iter(left))
        os.kill(replicas.pid(killed), signal.SIGKILL)
        platform.wait_for(lambda: not replicas.worker(killed), 20, "the loss of the engine")
        check_move(platform, chats, {killed}, reused[-1])
