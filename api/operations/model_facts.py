"""What `GET /v1/models` tells a client that offers the models in a list: the member `chat` of each."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from api.access.caller import Caller
from api.access.governed_admin import GOVERNED
from api.access.load_rights import may_load
from api.http.read_cache import ReadCache
from api.inference.capabilities import (
    counts_tokens,
    embeds,
    media_tasks,
    modalities,
    multi_turn,
    reranks,
    thinking_modes,
)
from backends.catalogue import BACKENDS
from backends.declaration import TOKEN_SAMPLING
from backends.parameter_rules import ContextOption
from config.settings import ModelDefinition, Settings
from fleet.fleet import Fleet
from fleet.model_row import ModelRow
from fleet.operation import Operation
from fleet.public_reason import public_reason
from fleet.states import ModelState
from scheduler.usage import TooManyRows, Usage, UsageStore
from store.errors import StorageUnavailable

MAX_AGE_S = 1.0
SPEED_AGE_S = 60.0
MAX_USAGE_ROWS = 20_000
"""With more rows of two days, of tenants and models, no speed is listed."""

MIB = 1024 * 1024
ALWAYS_HONOURED = ("temperature", "top_p", "seed", "stop")

TASK_INPUTS = {"transcribe": "audio", "translate": "audio"}
"""What a model takes for a media task; text for all others."""

TASK_OUTPUTS = {
    "transcribe": "transcript",
    "translate": "transcript",
    "speech": "audio",
    "image": "image",
    "workflow": "image",
}
"""What a model makes by a media task."""

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class LiveFacts:
    """What Redis held of the models at about one instant, by name: `loads` of those that are loading, and
    what the engines of loaded ones report as their quantization."""

    rows: Mapping[str, ModelRow]
    loads: Mapping[str, Operation]
    quantizations: Mapping[str, str]


class ModelFacts:
    """Reads the facts of all models at most once in `max_age_s`, and their speeds, which follow from the
    usage of two days, once in `SPEED_AGE_S`, however many requests ask for them. For threads."""

    def __init__(
        self, fleet: Fleet, usage: UsageStore, settings: Settings, max_age_s: float = MAX_AGE_S
    ) -> None:
        self._fleet = fleet
        self._usage = usage
        self._is_governed = settings.governance.admin == GOVERNED
        self._live: ReadCache[LiveFacts] = ReadCache(max_age_s)
        self._speeds: ReadCache[Mapping[str, float]] = ReadCache(SPEED_AGE_S)

    def of(self, model: ModelDefinition, context: int | None, caller: Caller | None) -> Json:
        """The facts of one model, as the caller sees it; `context` is what its engine reports. Raises
        `StorageUnavailable`."""
        live = self._live.get((), self._read_live)
        speeds = self._speeds.get((), self._read_speeds)
        may = caller is not None and may_load(caller) and not self._is_governed
        return {
            "can_load": may or model.on_demand == "load",
            "may_load": may,
            "on_demand": model.on_demand,
            **_live_members(model, live),
            "failure": _failure(live.rows.get(model.name)),
            "context_length": context or _known_context(model, live),
            **_abilities(model),
            "tokens_per_second": speeds.get(model.name),
        }

    def _read_live(self) -> LiveFacts:
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

    def _read_speeds(self) -> Mapping[str, float]:
        """Output tokens of one request in a second of its run, by model."""
        today = datetime.now(UTC).date()
        try:
            rows = self._usage.read(today - timedelta(1), today, MAX_USAGE_ROWS)
        except (TooManyRows, StorageUnavailable):
            return {}  # the list is worth more than its speeds
        used: defaultdict[str, Usage] = defaultdict(Usage)
        for row in rows:
            used[row.model] += row.usage
        return {
            model: round(usage.output_tokens / usage.run_us * 1e6, 1)
            for model, usage in used.items()
            if usage.output_tokens and usage.run_us
        }


def _live_members(model: ModelDefinition, live: LiveFacts) -> Json:
    """What changes while the platform runs."""
    row, operation = live.rows.get(model.name), live.loads.get(model.name)
    loading = None
    if row is not None and row.state is ModelState.LOADING:
        loading = {
            "progress": 0.0 if operation is None else round(operation.progress, 3),
            "eta_s": None if operation is None else operation.eta_s,
        }
    return {
        "loading": loading,
        "load_s": None if row is None or row.load_ms is None else round(row.load_ms / 1000, 1),
        "size_bytes": None if row is None or row.artifact_mib is None else row.artifact_mib * MIB,
        "quantization": live.quantizations.get(model.name),
    }


def _failure(row: ModelRow | None) -> Json | None:
    """Why the last load failed: the reason that requests get which wait for one."""
    if row is None or row.code is None or row.state not in (ModelState.FAILED, ModelState.UNLOADED):
        return None
    return {"code": row.code, "message": public_reason(row.code, row.last_error)}


def _known_context(model: ModelDefinition, live: LiveFacts) -> int | None:
    """The context of the last load of a model that is not loaded, else the configured one."""
    row = live.rows.get(model.name)
    return (None if row is None else row.context) or configured_context(model)


def _abilities(model: ModelDefinition) -> Json:
    """What a request to the model may have."""
    backend = BACKENDS[model.backend]
    honoured = sorted(name for name in TOKEN_SAMPLING if backend.honours(name, model.options))
    tasks = media_tasks(model)
    makes_text = backend.answers_in_text(model.options)
    return {
        "input": [*modalities(model), "document"] if makes_text else list(_inputs(model, tasks)),
        "output": _output(model, tasks),
        "media_tasks": list(tasks),
        **_media_choices(model),
        "tools": makes_text and multi_turn(model),
        "json_schema": makes_text and backend.constrains_output,
        "multi_turn": multi_turn(model),
        "counts_tokens": counts_tokens(model),
        "reasoning": list(thinking_modes(model)),
        "sampling": [*ALWAYS_HONOURED, *honoured] if makes_text else [],
    }


def _inputs(model: ModelDefinition, tasks: Sequence[str]) -> dict[str, None]:
    """What a model takes that makes no answers, without repeats."""
    images = ["image"] if BACKENDS[model.backend].edits_images(model.options) else []
    return dict.fromkeys([*(TASK_INPUTS.get(task, "text") for task in tasks or ("",)), *images])


def _media_choices(model: ModelDefinition) -> Json:
    """What a request for images or speech may choose; empty where the model declares none."""
    backend = BACKENDS[model.backend]
    options = backend.with_defaults(model.options)
    names = (backend.image_sizes_option, backend.image_quality_option, backend.voices_option)
    sizes, qualities, voices = (list(options.get(name or "") or ()) for name in names)
    return {"image_sizes": sizes, "image_qualities": qualities, "voices": voices}


def _output(model: ModelDefinition, tasks: Sequence[str]) -> str:
    if tasks:
        return TASK_OUTPUTS[tasks[0]]
    return "embeddings" if embeds(model) else "scores" if reranks(model) else "text"


def configured_context(model: ModelDefinition) -> int | None:
    """The tokens of one request that the configuration or the backend's default sets; None if it leaves them
    open."""
    backend = BACKENDS[model.backend]
    rule = backend.parameters.context
    if not isinstance(rule, ContextOption):
        return None
    given = backend.with_defaults(model.options).get(rule.option)
    return given if type(given) is int and given > 0 else None
