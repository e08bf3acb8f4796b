"""What of the prompts was computed before, and what was reused: by the part of the run, and by tenant."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from enum import Enum


class Phase(Enum):
    """The parts of a run: after the warm-up, after its event, and after about two turns of a chat from then.

    Without an event all of the time after the warm-up is the last one.
    """

    BEFORE = "before"
    SETTLING = "settling"
    SETTLED = "settled"


@dataclass(slots=True)
class PromptTokens:
    """Tokens of prompts, counted when a request begins. `ideal`: any replica has computed them before."""

    prompt: int = 0
    reused: int = 0
    ideal: float = 0.0

    def add(self, other: PromptTokens) -> None:
        """Count these, too."""
        self.prompt += other.prompt
        self.reused += other.reused
        self.ideal += other.ideal

    @property
    def reuse(self) -> float:
        """The share that is reused."""
        return self.reused / self.prompt if self.prompt else 0.0

    @property
    def of_ideal(self) -> float:
        """What is reused as a share of the ideal."""
        return self.reused / self.ideal if self.ideal else 0.0


Row = tuple[str, str, int, int, float]
"""A phase's value, a tenant, and its `PromptTokens`, as JSON can have them."""


class TokensByPhase:
    """The tokens of each tenant in each phase."""

    def __init__(self, rows: Iterable[Row] = ()) -> None:
        self._tokens: defaultdict[tuple[Phase, str], PromptTokens] = defaultdict(PromptTokens)
        for phase, tenant, prompt, reused, ideal in rows:
            self.add(Phase(phase), tenant, PromptTokens(prompt, reused, ideal))

    def rows(self) -> list[Row]:
        """All of them."""
        return [
            (phase.value, tenant, tokens.prompt, tokens.reused, tokens.ideal)
            for (phase, tenant), tokens in self._tokens.items()
        ]

    def add(self, phase: Phase, tenant: str, tokens: PromptTokens) -> None:
        """Count these, too."""
        self._tokens[phase, tenant].add(tokens)

    def of(
        self, *phases: Phase, tenants: Collection[str] = (), without: Collection[str] = ()
    ) -> PromptTokens:
        """The tokens in these phases, of these tenants or of all, without some."""
        found = PromptTokens()
        for (phase, tenant), tokens in self._tokens.items():
            if phase in phases and (not tenants or tenant in tenants) and tenant not in without:
                found.add(tokens)
        return found


def changes(tokens: TokensByPhase, concerned: Collection[str]) -> dict[str, float]:
    """What the event in the middle changed: `regained` and `others` of `Figures`.

    `concerned` are the tenants that have lost what was cached; empty: all may have.
    """
    before, settled = (tokens.of(phase, tenants=concerned) for phase in (Phase.BEFORE, Phase.SETTLED))
    found = {"regained": settled.reuse / before.reuse if before.reuse else 0.0}
    if concerned:
        after = tokens.of(Phase.SETTLING, Phase.SETTLED, without=concerned)
        found["others"] = after.of_ideal - tokens.of(Phase.BEFORE, without=concerned).of_ideal
    return found
