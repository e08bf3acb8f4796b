"""The main fields of a model, read without its replicas: the cost does not grow with their number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from config.settings import ModelDefinition
from fleet.states import ModelState

FIELDS = 9
"""The values of each model in the answer of `read_summaries.lua`."""


@dataclass(frozen=True, slots=True)
class ModelSummary:
    """The main fields of a configured model; they mean the same as those of `ModelRow`."""

    definition: ModelDefinition
    state: ModelState
    code: str | None
    wanted: bool | None
    lost: int
    crashed: int
    restart_at: float | None
    loaded_at: float | None
    queue_depth: int
    context: int | None = None

    @property
    def name(self) -> str:
        """The model's name."""
        return self.definition.name


def parse_model_summary(
    model: ModelDefinition,
    values: Sequence[Any],
) -> ModelSummary:
    """Parse one model's part of the answer of `read_summaries.lua`."""
    state, code, wanted, lost, crashed, restart_us, loaded_us, context, waiting = values
    return ModelSummary(
        definition=model,
        state=ModelState(state.decode()) if state else ModelState.UNLOADED,
        code=code.decode() if code else None,
        wanted=None if wanted is None else int(wanted) > 0,
        lost=int(lost or 0),
        crashed=int(crashed or 0),
        restart_at=None if restart_us is None else int(restart_us) / 1e6,
        loaded_at=None if loaded_us is None else int(loaded_us) / 1e6,
        queue_depth=waiting,
        context=int(context) if context else None,
    )
