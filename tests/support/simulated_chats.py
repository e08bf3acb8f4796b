"""Chats on a simulated platform, and what the engines of its replicas have computed of their prompts.

An engine keeps every prefix that it was given, so a turn reuses what its own replica has computed before.
"""

from __future__ import annotations

import hashlib
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from generation.prefix_keys import PrefixKey
from tests.support.simulated_platform import SimulatedPlatform

LAST_TURNS = 6


@dataclass
class Chat:
    """A conversation: its tenant, the turns that it has had, and the replica of each."""

    number: int
    tenant: str = "acme"
    system: str = ""
    replicas: list[str] = field(default_factory=list)

    @property
    def replica(self) -> str:
        """The replica of its latest turn."""
        return self.replicas[-1]


@dataclass(frozen=True)
class Placement:
    """Where a turn ran, and the tokens of its prompt that this replica was given before.

    `share` is that of its taken slots less the smallest one of any replica, before the turn took a slot; 0 if
    it had to wait.
    """

    chat: Chat
    replica: str
    share: float
    prompt_tokens: int
    reused_tokens: int


class SimulatedChats:
    """Sends the turns of chats, and ends them.

    `system_tokens` are those of the begin that the chats of one `system` share, `turn_tokens` those of each
    turn. At most `at_once` requests run or wait at a time. `may_grow`: replicas may be added.
    """

    def __init__(
        self,
        platform: SimulatedPlatform,
        *,
        system_tokens: int = 800,
        turn_tokens: int = 300,
        at_once: int = 24,
        may_grow: bool = False,
        seed: int = 1,
    ) -> None:
        self._platform = platform
        self._system_tokens, self._turn_tokens = system_tokens, turn_tokens
        self._at_once, self._may_grow = at_once, may_grow
        self._random = random.Random(seed)
        self._computed: dict[str, set[bytes]] = {}
        self._placed: dict[str, Placement] = {}
        self.running: list[tuple[Chat, str]] = []

    def keys(self, chat: Chat, turn: int) -> list[PrefixKey]:
        """The keys of a turn, as `generation.prefix_keys` makes them: system prompt, and the last turns."""
        first = max(1, turn - LAST_TURNS + 1)
        texts = [f"{chat.tenant} {chat.system}"]
        texts += [f"{chat.tenant} {chat.system} {chat.number} {number}" for number in range(first, turn + 1)]
        tokens = [0, *(number * self._turn_tokens for number in range(first, turn + 1))]
        return [(_hash(text), self._system_tokens + more) for text, more in zip(texts, tokens, strict=True)]

    def begin_turn(self, chat: Chat) -> str:
        """Send the next turn of a chat; returns the id of its job."""
        shares = self._shares()
        keys = self.keys(chat, len(chat.replicas) + 1)
        id = self._platform.admit(tenant=chat.tenant, prefix_keys=keys, may_grow=self._may_grow)
        self.running.append((chat, id))
        if replica := self._platform.field(id, "replica"):
            self._placed[id] = self._place(chat, replica, shares[replica] - min(shares.values()))
        return id

    def end_oldest(self) -> Placement:
        """End the turn that was sent first of those that run; returns where it ran."""
        chat, id = next(pair for pair in self.running if self._platform.status(pair[1]) == "running")
        self.running.remove((chat, id))
        replica = self._platform.field(id, "replica")
        placement = self._placed.pop(id, None)
        if placement is None or placement.replica != replica:  # it waited, or ran again
            placement = self._place(chat, replica, 0.0)
        chat.replicas.append(replica)
        self._platform.release(self._platform.run(id, self._platform.field(id, "worker")), tokens=10)
        return placement

    def _place(self, chat: Chat, replica: str, share: float) -> Placement:
        keys = self.keys(chat, len(chat.replicas) + 1)
        computed = self._computed.setdefault(replica, set())
        reused = max((tokens for digest, tokens in keys if digest in computed), default=0)
        computed.update(digest for digest, _ in keys)
        return Placement(chat, replica, share, keys[-1][1], reused)

    def end_all(self) -> list[Placement]:
        """End all turns that run or wait."""
        return [self.end_oldest() for _ in range(len(self.running))]

    def turn(self, chats: Sequence[Chat]) -> list[Placement]:
        """Let each chat have a turn, in a random order."""
        placements = []
        for chat in self._random.sample(chats, len(chats)):
            if len(self.running) >= self._at_once:
                placements.append(self.end_oldest())
            self.begin_turn(chat)
        return placements + self.end_all()

    def _shares(self) -> dict[str, float]:
        ready = self._platform.client.zrange(f"{self._platform.prefix}ready:alpha", 0, -1, withscores=True)
        return {name.decode(): share for name, share in ready}  # type: ignore[union-attr]


def reuse(placements: Sequence[Placement]) -> float:
    """The share of the prompts' tokens that were not computed again."""
    return sum(one.reused_tokens for one in placements) / sum(one.prompt_tokens for one in placements)


def chats_on(chats: Sequence[Chat]) -> Counter[str]:
    """How many chats had their latest turn on each replica."""
    return Counter(chat.replica for chat in chats)


def _hash(text: str) -> bytes:
    return hashlib.blake2b(text.encode(), digest_size=8).digest()
