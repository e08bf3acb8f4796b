"""Chooses the models that get one replica more or less. It changes nothing: the scripts check each step.

A model gets one more when its queue's wait has been beyond the target for some looks in a row, and one less
when the others would have been enough for a quiet time, or when another model waits for memory. Each look
takes one step up at most on the platform, and one of each model.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from backends.catalogue import BACKENDS
from config.settings import ScalingSettings
from fleet.errors import InsufficientMemory, NoWorker
from fleet.memory import required_mib
from fleet.model_row import ModelRow, ReplicaRow
from fleet.placement import freed_by_release, place_replicas
from fleet.states import ModelState
from fleet.worker_row import WorkerRow

SUSTAINED_S = 4.0
"""How long the wait has to be beyond the target: three looks, so that one moment decides nothing."""

GROWTH_PAUSE_S = 60.0
"""After a replica that was to be added has not started, no further one is tried for so long."""


@dataclass(frozen=True, slots=True)
class ModelLoad:
    """A loaded model whose replicas follow the load, at one instant.

    `run_ms` is for how long a job holds its slot, None while it is not known. `is_changing`: an operation of
    the model is under way. `beyond_since` and `quiet_since` are what the last look has noted, times in unix
    seconds by Redis' clock: since when the wait is beyond the target, and since when one replica less would
    be enough.
    """

    row: ModelRow
    run_ms: float | None = None
    is_changing: bool = False
    growth_failed_at: float | None = None
    beyond_since: float | None = None
    quiet_since: float | None = None

    @property
    def ready(self) -> list[ReplicaRow]:
        """The replicas that accept jobs, not those of workers that drain; that with the fewest jobs first."""
        ready = [replica for replica in self.row.hosted if replica.is_ready]
        return sorted(ready, key=lambda replica: (replica.slots_taken, replica.name))

    @property
    def missing(self) -> int:
        """How many replicas are wanted and not there: lost, or crashed."""
        return self.row.replicas - self.row.staying

    @property
    def is_releasing(self) -> bool:
        """Whether a replica stops."""
        return self.row.staying < len(self.row.hosted)

    @property
    def wait_s(self) -> float:
        """The time until the last waiting job gets a slot; 0 if none waits for a slot, or it is not known."""
        slots = sum(replica.slots for replica in self.ready)
        taken = sum(replica.slots_taken for replica in self.ready)
        if taken < slots or not slots or self.run_ms is None:
            return 0.0  # with a free slot jobs wait for a limit of their tenant
        return self.row.queue_depth * self.run_ms / 1000 / slots

    @property
    def surplus(self) -> int:
        """How many replicas there are beyond those that the load of the model began with."""
        return self.row.replicas - self.row.least

    @property
    def needs_fewer(self) -> bool:
        """Whether what runs and waits would fit in one replica less."""
        leaving = 0 if self.missing else 1
        jobs = self.row.queue_depth + sum(replica.slots_taken for replica in self.ready)
        return self.surplus > 0 and jobs <= sum(replica.slots for replica in self.ready[leaving:])


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What a look sees at `now` (unix seconds): loads, all workers, and the models that wait for memory."""

    now: float
    loads: Sequence[ModelLoad]
    workers: Sequence[WorkerRow]
    needs: Sequence[ModelRow] = ()


@dataclass(frozen=True, slots=True)
class Step:
    """One replica more on `worker`, or one less: `replica`, or a missing one if that is None."""

    load: ModelLoad
    reason: str
    worker: str | None = None
    replica: str | None = None


@dataclass(frozen=True, slots=True)
class Choice:
    """The steps, and by model what is to be noted for the next look: (`beyond_since`, `quiet_since`)."""

    steps: tuple[Step, ...]
    notes: Mapping[str, tuple[float | None, float | None]] = field(default_factory=dict)


def choose_steps(snapshot: Snapshot, settings: ScalingSettings) -> Choice:
    """Choose the steps of this look."""
    loads = [_noted(load, snapshot.now, settings) for load in snapshot.loads]
    needs = _needs_that_can_be_met(snapshot)
    steps = [
        *_fewer_for_needs(loads, snapshot, needs),
        *_fewer_after_quiet(loads, snapshot.now, settings),
        *_more(loads, snapshot, is_blocked=bool(needs)),
    ]
    first = {step.load.row.name: step for step in reversed(steps)}  # one step of each model: the first
    released = {name for name, step in first.items() if step.worker is None}
    notes = {
        load.row.name: (load.beyond_since, None if load.row.name in released else load.quiet_since)
        for load in loads
    }
    return Choice(tuple(step for step in steps if first[step.load.row.name] is step), notes)


def _noted(load: ModelLoad, now: float, settings: ScalingSettings) -> ModelLoad:
    """The load with the times as of this look: both begin anew after an operation, the quiet one also after a
    replica has stopped.
    """
    beyond = load.wait_s > settings.target_wait_s and not load.is_changing
    quiet = load.needs_fewer and not load.is_changing and not load.is_releasing
    return replace(
        load,
        beyond_since=(load.beyond_since or now) if beyond else None,
        quiet_since=(load.quiet_since or now) if quiet else None,
    )


# ---- one replica less


def _fewer_after_quiet(loads: Sequence[ModelLoad], now: float, settings: ScalingSettings) -> Iterator[Step]:
    for load in loads:
        if load.quiet_since is not None and now - load.quiet_since >= settings.quiet_s:
            yield from _release(load, f"one replica less was enough for {settings.quiet_s:g} s")


def _fewer_for_needs(
    loads: Sequence[ModelLoad], snapshot: Snapshot, needs: Sequence[ModelRow]
) -> Iterator[Step]:
    """Release one replica for a model that waits for memory; the next look sees what that has freed."""
    unmet = [need for need in needs if not _can_load(need, snapshot.workers)]
    if not unmet or any(load.is_releasing for load in loads):
        return
    device = unmet[0].definition.device
    workers = {worker.name for worker in snapshot.workers if worker.fits(device)}

    def share(load: ModelLoad) -> tuple[float, float, str]:
        jobs = load.row.queue_depth + sum(replica.slots_taken for replica in load.ready)
        return load.wait_s, jobs / max(1, sum(replica.slots for replica in load.ready)), load.row.name

    for load in sorted(loads, key=share):
        steps = list(_release(load, f"{unmet[0].name} waits for memory", workers))
        if steps:
            yield from steps
            return


def _release(load: ModelLoad, reason: str, workers: set[str] | None = None) -> Iterator[Step]:
    """Release a missing replica, else the ready one with the fewest jobs, on one of these workers if any."""
    if load.is_changing or load.surplus <= 0:
        return
    if load.missing > 0:
        yield Step(load, reason)
        return
    ready = load.ready
    found = [replica for replica in ready if workers is None or replica.worker in workers]
    if found and len(ready) > 1 and not load.is_releasing:
        yield Step(load, reason, replica=found[0].name)


# ---- one replica more


def _more(loads: Sequence[ModelLoad], snapshot: Snapshot, *, is_blocked: bool) -> Iterator[Step]:
    """One more replica for the model with the longest wait that has a place for it."""
    for load in sorted(loads, key=lambda load: (-load.wait_s, load.row.name)):
        if is_blocked or not _may_grow(load, snapshot.now):
            continue
        worker = _place(load.row, snapshot.workers)
        if worker is not None:
            waiting = load.row.queue_depth
            wait = "1 request waits" if waiting == 1 else f"{waiting} requests wait"
            yield Step(load, f"{wait}, about {max(1, round(load.wait_s))} s", worker=worker)
            return


def _may_grow(load: ModelLoad, now: float) -> bool:
    most = load.row.definition.scale_max or 0
    paused = load.growth_failed_at is not None and now - load.growth_failed_at < GROWTH_PAUSE_S
    sustained = load.beyond_since is not None and now - load.beyond_since >= SUSTAINED_S
    return sustained and not paused and not load.is_changing and not load.missing and load.row.replicas < most


def _place(row: ModelRow, workers: Sequence[WorkerRow]) -> str | None:
    """The worker for one more replica; None if none has the memory that is certainly enough."""
    required = required_mib(row, dict(row.override))
    if required is None and not BACKENDS[row.definition.backend].remote:
        # what is not known may be more than is free
        workers = [worker for worker in workers if not worker.memory_id]
    workers = [worker for worker in workers if row.name not in worker.obstacles]
    try:
        return place_replicas(row.definition, 1, workers, required)[0]
    except (NoWorker, InsufficientMemory):
        return None


# ---- models that wait for memory


def _needs_that_can_be_met(snapshot: Snapshot) -> list[ModelRow]:
    """The models that wait for memory, without those that all surplus replicas would not make room for.

    A load that waits for the unload of another model has its memory reserved; it only must not get less.
    """
    freed: Counter[str] = Counter()
    for load in snapshot.loads:
        freed.update(freed_by_release(load.row))
    return [need for need in snapshot.needs if _can_load(need, snapshot.workers, freed)]


def _can_load(need: ModelRow, workers: Sequence[WorkerRow], freed: Mapping[str, int] | None = None) -> bool:
    if need.state is ModelState.LOADING:
        return True
    required = required_mib(need, dict(need.override))
    try:
        place_replicas(need.definition, need.replicas, workers, required, freed)
    except (NoWorker, InsufficientMemory):
        return False
    return True
