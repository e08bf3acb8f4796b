"""A configured model with its live state, as Redis held it at one instant."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import orjson

from backends.catalogue import BACKENDS
from config.settings import ModelDefinition
from fleet.states import ModelState, ReplicaState

HAS_OVERRIDE = (ModelState.LOADING, ModelState.LOADED, ModelState.UNLOADING)


PARTS = 4
"""The values of each model in the answer of `read_models.lua`."""


@dataclass(frozen=True, slots=True)
class LastLoad:
    """The settings of a load as they were asked for: `replicas` is None for the configured number.

    `override` can be sent again as it is, `at` is the time of the request (unix seconds).
    """

    replicas: int | None
    override: Mapping[str, Any]
    at: float


@dataclass(frozen=True, slots=True)
class ReplicaRow:
    """A replica of a model on a worker.

    `slots` is 0 until its engine is up; `is_ready` is whether it accepts requests.
    """

    name: str
    state: str
    worker: str
    slots: int
    slots_taken: int
    is_ready: bool


@dataclass(frozen=True, slots=True)
class ModelRow:
    """A configured model with its live state.

    - `replicas` is the number of the current load, `wanted` whether an operator loaded (True) or unloaded
      (False) the model last, None if neither happened. `least` is the number that the load began with, below
      which replicas that follow the load do not go. `hosted` are the replicas that workers have, `lost` is
      the number of replicas that ended with their workers and were not replaced yet.
    - `crashes` is how often its engines crashed within the window of `restart`, `restart_at` the time (unix
      seconds) at which the model, or `crashed` replicas of it, are started again; None if none is due.
    - `operation_id` is the latest load or unload. `override` has the fields that the last load overrode; it
      is in force while the model is loading, loaded or unloading.
    - `last_load` are the settings of the last load that was asked for by request, kept over the unload.
    - `slots` is the capacity of one replica, as the engines reported it (0 before that). `inflight` jobs
      run: each holds a slot.
    - Memory is in MiB: `observed_mib` was measured for `observed_replicas` replicas with the options of which
      `observed_variant` is the fingerprint; `artifact_mib` is the size of the model's files, and
      `shape` what their headers say about it (`fleet.estimates`), "" if they say nothing.
    - `load_ms` and `unload_ms` are the usual durations, None before the first one.
    - `context` is the limit of one request in tokens, as an engine of the last load reported it.
    """

    name: str
    definition: ModelDefinition
    state: ModelState
    replicas: int
    loaded_replicas: int
    inflight: int
    queue_depth: int
    slots: int = 0
    last_error: str | None = None
    code: str | None = None
    operation_id: str | None = None
    loaded_at: float | None = None
    wanted: bool | None = None
    override: Mapping[str, Any] = field(default_factory=dict)
    observed_mib: int | None = None
    observed_replicas: int = 0
    observed_variant: str = ""
    artifact_mib: int | None = None
    shape: str = ""
    lost: int = 0
    crashes: int = 0
    crashed: int = 0
    restart_at: float | None = None
    hosted: tuple[ReplicaRow, ...] = ()
    changed_at: float | None = None
    load_ms: float | None = None
    unload_ms: float | None = None
    last_load: LastLoad | None = None
    context: int | None = None
    least: int = 1

    @property
    def staying(self) -> int:
        """How many replicas stay: all but those that stop."""
        return sum(replica.state != ReplicaState.STOPPING for replica in self.hosted)

    @property
    def workers(self) -> tuple[str, ...]:
        """The worker of each replica."""
        return tuple(replica.worker for replica in self.hosted)

    @property
    def active_override(self) -> Mapping[str, Any]:
        """The override in force."""
        return self.override if self.state in HAS_OVERRIDE else {}

    @property
    def variant(self) -> str:
        """The fingerprint of the model with the options of its last load."""
        return fingerprint(self.definition, self.override)


def effective_options(model: ModelDefinition, override: Mapping[str, Any]) -> Mapping[str, Any]:
    """The model's configured options, with this override applied."""
    return BACKENDS[model.backend].merged(model.options, override)


def fingerprint(model: ModelDefinition, override: Mapping[str, Any]) -> str:
    """A hash of all settings that determine how much memory a replica takes."""
    options = dict(effective_options(model, override))
    inputs = [model.backend, model.model_path, model.device, model.target_inflight, options]
    return hashlib.sha256(orjson.dumps(inputs, option=orjson.OPT_SORT_KEYS)).hexdigest()[:16]


class _ReplicaFields(NamedTuple):
    """The fields of one replica in the answer of `read_models.lua`, in its order."""

    name: bytes
    state: bytes
    worker: bytes
    slots: bytes
    slots_taken: int
    ready: int


def parse_model_row(
    model: ModelDefinition, raw: Sequence[bytes], waiting: int, replicas: Sequence[Any], crashes: int
) -> ModelRow:
    """Parse one model's part of the answer of `read_models.lua`."""
    flat = [item.decode() for item in raw]
    row = dict(zip(flat[::2], flat[1::2], strict=True))
    width = len(_ReplicaFields._fields)
    hosted = [_ReplicaFields(*replicas[at : at + width]) for at in range(0, len(replicas), width)]
    ready = [replica for replica in hosted if replica.ready]
    started = [replica for replica in hosted if int(replica.slots)]
    wanted = int(row["wanted"]) if "wanted" in row else None
    state = ModelState(row.get("state", "unloaded"))
    least = (_integer(row, "least") or wanted if wanted else None) or model.replicas
    return ModelRow(
        name=model.name,
        definition=model,
        state=state,
        replicas=(_integer(row, "replicas") if state in HAS_OVERRIDE else None) or least,
        # replicas that drain still count as loaded; those of a cancelled load never had slots
        loaded_replicas=len(started if state is ModelState.UNLOADING else ready),
        inflight=sum(replica.slots_taken for replica in hosted),
        queue_depth=waiting,
        slots=min((int(replica.slots) for replica in ready), default=0),
        last_error=row.get("last_error"),
        code=row.get("code"),
        operation_id=row.get("operation"),
        loaded_at=_seconds(row, "loaded_us"),
        wanted=None if wanted is None else wanted > 0,
        override=orjson.loads(row.get("override", "{}")),
        observed_mib=_integer(row, "observed_mib"),
        observed_replicas=_integer(row, "observed_replicas") or 0,
        observed_variant=row.get("observed_variant", ""),
        artifact_mib=_integer(row, "artifact_mib"),
        shape=row.get("shape", ""),
        lost=_integer(row, "lost") or 0,
        crashes=crashes,
        crashed=_integer(row, "crashed") or 0,
        restart_at=_seconds(row, "restart_us"),
        hosted=tuple(_hosted(replica) for replica in hosted),
        changed_at=_seconds(row, "changed_us"),
        load_ms=_number(row, "load_ms"),
        unload_ms=_number(row, "unload_ms"),
        last_load=_last_load(row),
        context=int(text) if (text := row.get("context")) else None,
        least=least,
    )


def _last_load(row: Mapping[str, str]) -> LastLoad | None:
    at = _seconds(row, "last_load_us")
    return None if at is None else LastLoad(**orjson.loads(row["last_load"]), at=at)


def _hosted(fields: _ReplicaFields) -> ReplicaRow:
    name, state, worker = fields.name.decode(), fields.state.decode(), fields.worker.decode()
    return ReplicaRow(name, state, worker, int(fields.slots), fields.slots_taken, bool(fields.ready))


def _integer(row: Mapping[str, str], name: str) -> int | None:
    return int(row[name]) if name in row else None


def _seconds(row: Mapping[str, str], name: str) -> float | None:
    return int(row[name]) / 1e6 if name in row else None


def _number(row: Mapping[str, str], name: str) -> float | None:
    return float(row[name]) if name in row else None
