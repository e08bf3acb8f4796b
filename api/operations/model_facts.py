"""What `GET /v1/models` tells a client that offers the models in a list: the member `chat` of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from api.access.caller import Caller
from api.access.load_rights import may_load
from api.http.read_cache import ReadCache
from api.inference.capabilities import (
    counts_tokens,
    embeds,
    modalities,
    multi_turn,
    reranks,
    thinking_modes,
)
from backends.catalogue import BACKENDS
from backends.declaration import TOKEN_SAMPLING
from backends.parameter_rules import ContextOption
from config.settings import ModelDefinition
from fleet.fleet import Fleet
from fleet.model_row import ModelRow
from fleet.operation import Operation
from fleet.states import ModelState

MAX_AGE_S = 1.0
MIB = 1024 * 1024
ALWAYS_HONOURED = ("temperature", "top_p", "seed", "stop")

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class LiveFacts:
    """What Redis held of the models at about one instant, by name: `loads` of those that are loading, and
    what the engines of loaded ones report as their quantization."""

    rows: Mapping[str, ModelRow]
    loads: Mapping[str, Operation]
    quantizations: Mapping[str, str]


class ModelFacts:
    """Reads the facts at most once in `max_age_s`, however many requests ask for them."""

    def __init__(self, fleet: Fleet, max_age_s: float = MAX_AGE_S) -> None:
        self._fleet = fleet
        self._reads: ReadCache[LiveFacts] = ReadCache(max_age_s)

    def of(self, model: ModelDefinition, caller: Caller) -> Json:
        """The facts of one model, as the caller sees it. Raises `StorageUnavailable`."""
        return model_facts(model, caller, self._reads.get((), self._read))

    def _read(self) -> LiveFacts:
        rows = {row.name: row for row in self._fleet.rows()}
        loads = {}
        for row in rows.values():
            operation = None
            if row.state is ModelState.LOADING and row.operation_id:
                operation = self._fleet.operation(row.operation_id)
            if operation is not None and operation.kind == "load":
                loads[row.name] = operation
        quantizations = {
            engine.model: engine.report.quantization
            for engine in self._fleet.engines()
            if engine.report.quantization is not None
        }
        return LiveFacts(rows, loads, quantizations)


def model_facts(model: ModelDefinition, caller: Caller, live: LiveFacts) -> Json:
    """The member `chat` of a model. Pure."""
    row, operation = live.rows.get(model.name), live.loads.get(model.name)
    backend = BACKENDS[model.backend]
    honoured = sorted(name for name in TOKEN_SAMPLING if backend.honours(name, model.options))
    makes_text = not (embeds(model) or reranks(model))
    return {
        "can_load": model.on_demand == "load",
        "may_load": may_load(caller),
        "loading": None
        if operation is None
        else {"progress": round(operation.progress, 3), "eta_s": operation.eta_s},
        "load_s": None if row is None or row.load_ms is None else round(row.load_ms / 1000, 1),
        "context_length": (None if row is None else row.context) or configured_context(model),
        "size_bytes": None if row is None or row.artifact_mib is None else row.artifact_mib * MIB,
        "quantization": live.quantizations.get(model.name),
        "input": [*modalities(model), "document"] if makes_text else ["text"],
        "output": "embeddings" if embeds(model) else "text" if makes_text else "scores",
        "tools": makes_text and multi_turn(model),
        "json_schema": makes_text and backend.constrains_output,
        "multi_turn": multi_turn(model),
        "counts_tokens": counts_tokens(model),
        "reasoning": list(thinking_modes(model)),
        "sampling": [*ALWAYS_HONOURED, *honoured] if makes_text else [],
    }


def configured_context(model: ModelDefinition) -> int | None:
    """The tokens of one request that the configuration or the backend's default sets; None if it leaves them
    open."""
    backend = BACKENDS[model.backend]
    rule = backend.parameters.context
    if not isinstance(rule, ContextOption):
        return None
    given = backend.with_defaults(model.options).get(rule.option)
    return given if type(given) is int and given > 0 else None
