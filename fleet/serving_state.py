"""Whether the platform is served, starts or ends: judged by what its workers and engines achieve."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from config.settings import ModelDefinition
from fleet.states import ModelState

FIELDS = 7
"""The values of each model in the answer of `read_serving_state.lua`."""

WITHOUT_MEMORY = frozenset({"out_of_memory", "insufficient_memory"})
"""Codes of models that failed because a device had too little memory."""


@dataclass(frozen=True, slots=True)
class ModelServing:
    """A configured model.

    `wanted` is whether an operator loaded (True) or unloaded (False) it last, `was_loaded` whether it has
    been loaded since the start of the platform. `ready` replicas accept jobs; `stalled` ones of them, or
    their workers, make no progress at the moment.
    """

    definition: ModelDefinition
    state: ModelState
    code: str | None
    wanted: bool | None
    was_loaded: bool
    queue_depth: int
    ready: int
    stalled: int

    @property
    def is_loaded(self) -> bool:
        """Whether it is loaded."""
        return self.state is ModelState.LOADED

    @property
    def is_served(self) -> bool:
        """Whether an engine that makes progress serves it."""
        return self.is_loaded and self.ready > self.stalled

    @property
    def is_drained(self) -> bool:
        """Whether it is loaded, and the workers of all its replicas drain: else one of them were ready."""
        return self.is_loaded and self.ready == 0

    @property
    def is_awaited(self) -> bool:
        """Whether it is to be loaded at the start of the platform, and that has not ended."""
        enabled = self.definition.enabled and self.wanted is not False
        return enabled and self.state in (ModelState.UNLOADED, ModelState.LOADING)

    @property
    def will_be_served(self) -> bool:
        """Whether it is being loaded, or the next request loads it."""
        resting = self.state in (ModelState.UNLOADED, ModelState.UNLOADING)
        return self.state is ModelState.LOADING or (resting and self.definition.on_demand == "load")


@dataclass(frozen=True, slots=True)
class ServingState:
    """All configured models, in configuration order; how many workers are registered, and how many drain."""

    workers: int
    draining: int
    models: tuple[ModelServing, ...]

    @property
    def is_starting(self) -> bool:
        """Whether enabled models are still to be loaded, and no model has been since the platform's start."""
        return any(model.is_awaited for model in self.models) and not any(
            model.was_loaded for model in self.models
        )

    @property
    def is_draining(self) -> bool:
        """Whether all workers drain."""
        return 0 < self.workers == self.draining

    def saturated(self, most_waiting: float) -> int:
        """How many of the models that are served have `most_waiting` jobs waiting or more; if 0: 0."""
        return sum(model.is_served and model.queue_depth >= most_waiting > 0 for model in self.models)

    def problem(self, most_waiting: float) -> str | None:
        """Why the platform is unhealthy, None if it is healthy.

        `no_progress`: the engines of all loaded models, or their workers, hang. `out_of_memory` and
        `all_models_failed`: no model is served or loading, and at least one failed (for lack of memory).
        `queue_saturated`: `most_waiting` jobs or more wait for each model that is served. A platform whose
        models were unloaded is healthy, and so is one whose loaded models wait for the end of a drain, and
        one with a model that the next request loads.
        """
        served = sum(model.is_served for model in self.models)
        if served:
            return "queue_saturated" if self.saturated(most_waiting) == served else None
        if any(model.is_loaded and model.stalled for model in self.models):
            return "no_progress"
        if any(model.will_be_served or model.is_drained for model in self.models):
            return None
        codes = [model.code for model in self.models if model.state is ModelState.FAILED]
        if not codes:
            return None
        return "out_of_memory" if WITHOUT_MEMORY.intersection(codes) else "all_models_failed"


def parse_serving_state(models: Sequence[ModelDefinition], answer: Sequence[Any]) -> ServingState:
    """Parse the answer of `read_serving_state.lua` for these models."""
    workers, draining, flat = answer
    groups = [flat[at : at + FIELDS] for at in range(0, len(flat), FIELDS)]
    return ServingState(workers, draining, tuple(_model(*pair) for pair in zip(models, groups, strict=True)))


def _model(definition: ModelDefinition, values: Sequence[Any]) -> ModelServing:
    state, code, wanted, loaded_us, waiting, ready, stalled = values
    return ModelServing(
        definition,
        ModelState(state.decode()) if state else ModelState.UNLOADED,
        code.decode() if code else None,
        None if wanted is None else int(wanted) > 0,
        loaded_us is not None,
        waiting,
        ready,
        stalled,
    )
