"""The memory of the workers, for the choice of the models to load."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress

from fleet.errors import InsufficientMemory, NoWorker
from fleet.fleet import Fleet
from fleet.memory import required_mib
from fleet.model_row import ModelRow
from fleet.on_demand.choice import Fit
from fleet.placement import freed_by_release, freed_by_unload, place_replicas

UNKNOWN_MIB = 1 << 30
"""The unload of a model whose memory is unknown may free any amount: a load that is tried will tell."""


class FleetRoom:
    """What fits beside what, by the workers' reports. `rows` are the models that are loaded or wanted."""

    def __init__(self, fleet: Fleet, rows: Mapping[str, ModelRow]) -> None:
        self._rows = rows
        self._workers = fleet.workers()
        self._taken: Counter[str] = Counter()

    def fit(self, model: str, without: Collection[str] = ()) -> Fit:
        """Whether a model fits once the models `without` are gone."""
        try:
            self._places(model, without)
        except NoWorker:
            return Fit.NO_WORKER
        except InsufficientMemory:
            return Fit.SHORT
        return Fit.FITS

    def fits_without_surplus(self, model: str, scaled: Iterable[ModelRow]) -> bool:
        """Whether a model that does not fit will, once other models' surplus replicas are gone."""
        freed: Counter[str] = Counter()
        for row in scaled:
            freed.update(freed_by_release(row))
        if not freed or self.fit(model) is not Fit.SHORT:
            return False
        row = self._rows[model]
        need, count = required_mib(row, {}), row.definition.replicas
        try:
            place_replicas(row.definition, count, self._workers, need, freed)
        except (InsufficientMemory, NoWorker):
            return False
        return True

    def take(self, model: str, without: Collection[str] = ()) -> None:
        """Reserve the room for a model; does nothing if it does not fit any more."""
        need = required_mib(self._rows[model], {}) or 0
        freed = self._freed(without)
        with suppress(NoWorker, InsufficientMemory):
            for worker in self._places(model, without):
                self._taken[worker] += need
        for worker, mib in freed.items():
            self._taken[worker] -= min(mib, self._taken[worker])

    def _places(self, model: str, without: Collection[str]) -> list[str]:
        row = self._rows[model]
        freed = self._freed(without)
        changed = {name: freed.get(name, 0) - self._taken[name] for name in {*freed, *self._taken}}
        count = row.definition.replicas
        return place_replicas(row.definition, count, self._workers, required_mib(row, {}), changed)

    def _freed(self, without: Collection[str]) -> Counter[str]:
        freed: Counter[str] = Counter()
        for name in without:
            row = self._rows[name]
            known = freed_by_unload(row)
            freed.update(dict.fromkeys(row.workers, UNKNOWN_MIB) if known is None else known)
        return freed
