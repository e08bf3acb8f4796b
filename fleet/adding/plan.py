"""What adding a model would do, computed without doing it: its files, its configuration, whether it fits.

`plan_addition` decides for the moment at which it is called. It reads files of this host and asks a hub, in a
process of its own; it changes nothing, neither here nor in Redis.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from backends.catalogue import REDACTED
from backends.declaration import Backend
from config.errors import ConfigError
from config.hub_artifact import HubArtifact
from config.settings import Settings
from fleet.adding.choice import Room, label_of
from fleet.adding.defaults import Default, best_worker, complete, default_backend
from fleet.adding.definition import companions_in_use, define, loaded_files
from fleet.adding.errors import InvalidAddition
from fleet.adding.fit import FITS, FITS_WITH_EVICTION, TOO_LARGE, UNKNOWN, VERDICTS, Fit, fit_of
from fleet.adding.locate import FoundModel, choose_in_repository, choose_local, local_path
from fleet.adding.naming import name_of
from fleet.adding.overrides import check_backend, check_overrides
from fleet.adding.source import Source, parse_source
from fleet.artifacts.errors import UnusableArtifact
from fleet.dynamic_model import DynamicModel, is_name
from fleet.fleet import Fleet
from fleet.hub_preview import Wanted
from fleet.load_request import LoadRequest
from fleet.model_choice import backends_for
from fleet.worker_row import WorkerRow

__all__ = [
    "FITS",
    "FITS_WITH_EVICTION",
    "TOO_LARGE",
    "UNKNOWN",
    "VERDICTS",
    "AdditionPlan",
    "Default",
    "Fit",
    "PlannedFile",
    "plan_addition",
]

Json = dict[str, Any]
SOURCE = "source"


@dataclass(frozen=True, slots=True)
class PlannedFile:
    """A file of the model: its name in its repository or folder, and its size; the rest as `FoundFile`."""

    name: str
    bytes: int
    is_here: bool = True
    is_linked: bool = True

    def to_dict(self) -> Json:
        """As a part of a plan."""
        return {"name": self.name, "bytes": self.bytes}


@dataclass(frozen=True, slots=True)
class AdditionPlan:
    """The model that an addition makes.

    `source` is the source in its canonical form: a path on a hub at a commit, or a path of files. `added` is
    what is registered: its definition, its configuration as in a configuration file (without `model_path`,
    which follows from its origin), the origin and the size. `downloads` are the artifacts of which this host
    lacks files, or their names, each at a commit; empty if the model can be registered at once.
    `configuration` is for people: complete, without secrets.
    """

    model: str
    source: str
    added: DynamicModel
    files: tuple[PlannedFile, ...]
    downloads: tuple[HubArtifact, ...]
    configuration: Mapping[str, Any]
    defaults: tuple[Default, ...]
    fit: Fit

    @property
    def download_bytes(self) -> int:
        """The size of the files that are not on this host."""
        return sum(file.bytes for file in self.files if not file.is_here)

    def to_dict(self) -> Json:
        """As the API shows it (`POST /v1/admin/models/plan`)."""
        return {
            "model": self.model,
            "source": self.source,
            "files": [file.to_dict() for file in self.files],
            "download_bytes": self.download_bytes,
            "configuration": dict(self.configuration),
            "defaults": [default.to_dict() for default in self.defaults],
            "fit": self.fit.to_dict(),
        }


def plan_addition(
    fleet: Fleet,
    source: str,
    name: str | None = None,
    configuration: Mapping[str, Any] | None = None,
    *,
    allowed: Sequence[str] | None = None,
) -> AdditionPlan:
    """The plan of an addition.

    `name` None: one is made of the source, which no other model has. `configuration` has the fields that are
    not left to the defaults, as in a configuration file. `allowed` are the backends that may run the model
    (None: all).

    Raises `InvalidAddition` (with `param`), `HubRefused`, `HubBusy`, `NotDownloaded` (where nothing may be
    downloaded), `StorageUnavailable`. It may take seconds: not for an event loop.
    """
    given, settings = dict(configuration or {}), fleet.settings
    if name is not None and not is_name(name):
        raise InvalidAddition(
            "name must have letters, digits, '.', '_' and '-', in parts separated by '/', and not end like an"
            " action (`/load`)",
            param="name",
        )
    parsed, workers = parse_source(source), fleet.workers()
    found = find_model(parsed, workers, settings)
    backend, defaults = _backend(found, given, workers, settings, allowed)
    check_overrides(given, backend, found, settings)
    values, more = complete(found, given, backend, workers)
    if parsed.quantization is None and parsed.file is None and label_of(found.choice.model):
        defaults.insert(0, Default("quantization", found.choice.label, found.choice.reason))
    defaults += more
    fields = {"backend": backend.name, **values, **given}
    model = name or name_of(found, {each.name: each for each in fleet.current_models(after_s=0.0)})
    try:
        added = define(model, fields, found, settings)
    except ConfigError as error:
        raise InvalidAddition(f"configuration: {error.problems[0]}", param="configuration") from None
    files = tuple(
        PlannedFile(file.name, file.size, file.is_here, file.is_linked)
        for file in loaded_files(found, fields, backend)
    )
    row = fleet.loads.row_to_load(model, LoadRequest(dynamic=added))
    definition = added.definition
    return AdditionPlan(
        model,
        definition.model_path or "",
        added,
        files,
        _downloads(found, files, fields),
        {
            **{
                key: REDACTED if _is_secret(key, backend) and value else value
                for key, value in fields.items()
            },
            "model_path": definition.model_path,
        },
        tuple(defaults),
        fit_of(row, fleet.rows(), workers),
    )


def find_model(source: Source, workers: Sequence[WorkerRow], settings: Settings) -> FoundModel:
    """The files of a source. Raises `InvalidAddition`, `HubRefused`, `HubBusy`, `NotDownloaded`."""
    room = room_of(workers)
    try:
        local = None if source.path is None else local_path(source.path, settings)
        if local is not None:
            return choose_local(local, source.quantization, room, settings)
        if source.repository is None:
            raise _nowhere(source.path or "", settings)
        wanted = Wanted(source.artifact, source.quantization, decides=True, room=room)
        return choose_in_repository(wanted, settings, SOURCE)
    except UnusableArtifact as error:
        raise InvalidAddition(f"{SOURCE}: {error}", param=SOURCE) from None
    except OSError as error:
        raise InvalidAddition(f"{SOURCE} cannot be read: {error.strerror}", param=SOURCE) from error


def room_of(workers: Sequence[WorkerRow]) -> Room | None:
    """The memory that a choice of files regards; None if no worker has reported any."""
    best = best_worker(workers)
    if best is None:
        return None
    totals = [worker.memory.total_mib for worker in workers if worker.memory and not worker.draining]
    return Room(best.free_mib, max(totals))


def _nowhere(path: str, settings: Settings) -> InvalidAddition:
    base = settings.model_base_path
    where = "that the platform may read (model_base_path is not set)" if base is None else f"in {base}"
    return InvalidAddition(
        f"{SOURCE}: there is no file or folder {path[:200]} {where}; a model on a hub is written owner/name",
        param=SOURCE,
    )


def _backend(
    found: FoundModel,
    given: Mapping[str, Any],
    workers: Sequence[WorkerRow],
    settings: Settings,
    allowed: Sequence[str] | None,
) -> tuple[Backend, list[Default]]:
    form = found.weights.form
    named = check_backend(given, form)
    if named is not None and (allowed is None or named.name in allowed):
        return named, []
    chosen = None if named is not None else default_backend(form, workers, settings, allowed)
    if chosen is None:
        fitting = [each.name for each in backends_for(form)]
        raise InvalidAddition(
            f"{SOURCE} has {form} weights, which run on {' or '.join(fitting)}: governance.allow permits none"
            " of them for this name",
            code="model_not_allowed",
            param=SOURCE,
        )
    return chosen[0], [chosen[1]]


def _downloads(
    found: FoundModel, files: Sequence[PlannedFile], fields: Mapping[str, Any]
) -> tuple[HubArtifact, ...]:
    origin = found.origin
    missing = {file.name for file in files if not file.is_linked}
    if origin.kind != "hub" or not missing:
        return ()
    companions = [each.name for each in companions_in_use(found, fields)]
    artifacts = [
        (origin.file or None, missing - {*companions}),
        *((name, missing & {name}) for name in companions),
    ]
    return tuple(
        HubArtifact(origin.repository or "", origin.revision or "", file)
        for file, lacking in artifacts
        if lacking
    )


def _is_secret(field: str, backend: Backend) -> bool:
    option = backend.option(field)
    return option is not None and option.secret
