"""Reads what the choice of the models to load is made by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from config.settings import ModelDefinition
from fleet.fleet import Fleet
from fleet.on_demand.demand import DemandedModel, TenantUse
from fleet.states import ModelState

UNKNOWN_LOAD_S, UNKNOWN_UNLOAD_S = 10.0, 1.0
"""What a load and an unload are taken to last before the first one."""

UNKNOWN_RUN_S = 1.0

LONG_AGO_S = 1e9


@dataclass(frozen=True, slots=True)
class _Fields:
    """The fields of a model in the answer of `read_demand.lua`."""

    state: bytes | None
    loaded_us: bytes | None
    changed_us: bytes | None
    load_ms: bytes | None
    unload_ms: bytes | None
    on_demand: bytes | None
    leaves_for: bytes | None
    return_paid: bytes | None
    restart_us: bytes | None
    load_retry_us: bytes | None
    code: bytes | None


def read_demand(fleet: Fleet, models: Sequence[ModelDefinition]) -> list[DemandedModel]:
    """The models that requests wait for, and those that may make room. Raises `StorageUnavailable`."""
    now_us, *found = fleet.scripts.run("read_demand", models=[model.name for model in models])
    definitions = {model.name: model for model in models}
    temporary = {name for name, model in fleet.catalogue.dynamic.items() if not model.kept}
    return [
        _parse(
            float(now_us),
            definitions[name.decode()],
            _Fields(*fields),
            *rest,
            is_lost=name.decode() in temporary,
        )
        for name, fields, *rest in found
    ]


def _parse(  # noqa: PLR0913, PLR0917 - the values of the script's answer
    now_us: float,
    model: ModelDefinition,
    fields: _Fields,
    wanted: int,
    waiting: int,
    oldest: bytes,
    running: int,
    idle_us: bytes,
    run_ms: bytes,
    tenants: Sequence[bytes | int],
    *,
    is_lost: bool,
) -> DemandedModel:
    """One model; `is_lost`: its definition ends with its unload."""

    def since(time_us: bytes | None) -> float:
        return max(0.0, now_us - float(time_us)) / 1e6 if time_us else LONG_AGO_S

    resident_s = since(fields.loaded_us)
    in_use = bool(waiting or running)
    by_request = fields.on_demand == b"1"
    retry_us = max(float(fields.load_retry_us or 0), float(fields.restart_us or 0))
    return DemandedModel(
        name=model.name,
        state=ModelState((fields.state or b"unloaded").decode()),
        load_s=UNKNOWN_LOAD_S if fields.load_ms is None else float(fields.load_ms) / 1e3,
        unload_s=UNKNOWN_UNLOAD_S if fields.unload_ms is None else float(fields.unload_ms) / 1e3,
        waiting=waiting,
        waits_s=since(oldest) if oldest else 0.0,
        running=running,
        idle_s=0.0 if in_use else min(resident_s, since(idle_us)),
        resident_s=resident_s,
        changed_s=since(fields.changed_us),
        work_s=waiting * (float(run_ms) / 1e3 if run_ms else UNKNOWN_RUN_S),
        tenants=tuple(_tenant(tenants[at : at + 5]) for at in range(0, len(tenants), 5)),
        is_wanted=bool(wanted),
        is_paused=fields.restart_us is not None or retry_us > now_us,
        may_leave=(model.on_demand == "load" or by_request) and not model.pin and not is_lost,
        by_request=by_request,
        leaves_for=fields.leaves_for.decode() if fields.leaves_for else None,
        return_paid=fields.return_paid == b"1",
        idle_unload_s=model.idle_unload_s,
    )


def _tenant(values: Sequence[Any]) -> TenantUse:
    name, waiting, priority, weight, account_ms = values
    return TenantUse(
        name.decode(),
        int(waiting),
        float(weight),
        float(account_ms) / 1e3,
        priority.decode().removesuffix("_background") or "normal",
    )
