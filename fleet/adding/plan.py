"""What adding a model would do, computed without doing it: its files, its configuration, whether it fits.

`plan_addition` decides for the moment at which it is called. It reads files of this host and asks a hub, in a
process of its own; it changes nothing, neither here nor in Redis.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from config.hub_artifact import HubArtifact
from fleet.dynamic_model import DynamicModel
from fleet.fleet import Fleet

Json = dict[str, Any]

FITS, FITS_WITH_EVICTION, TOO_LARGE, UNKNOWN = "fits", "fits_with_eviction", "too_large", "unknown"
VERDICTS = (FITS, FITS_WITH_EVICTION, TOO_LARGE, UNKNOWN)


@dataclass(frozen=True, slots=True)
class PlannedFile:
    """A file of the model: its name in its repository or folder, and its size. `is_here`: it is on this host."""

    name: str
    bytes: int
    is_here: bool = True

    def to_dict(self) -> Json:
        """As a part of a plan."""
        return {"name": self.name, "bytes": self.bytes}


@dataclass(frozen=True, slots=True)
class Default:
    """The value of a field that the request left open, and one sentence that says why it has this value.

    `field` is that of a model's configuration, or `quantization`, `chat_template`, `tool_syntax`,
    `reasoning_syntax`, which follow from the files.
    """

    field: str
    value: Any
    reason: str

    def to_dict(self) -> Json:
        """As a part of a plan."""
        return {"field": self.field, "value": self.value, "reason": self.reason}


@dataclass(frozen=True, slots=True)
class Fit:
    """Whether one replica fits into the memory of a worker at this moment.

    `free_mib` and `total_mib` are those of the best worker, `evicts` the models that would be unloaded for
    it. Numbers are None where nobody has measured them.
    """

    verdict: str
    reason: str
    need_mib: int | None = None
    free_mib: int | None = None
    total_mib: int | None = None
    evicts: tuple[str, ...] = ()

    def to_dict(self) -> Json:
        """As a part of a plan."""
        return {
            "verdict": self.verdict,
            "need_mib": self.need_mib,
            "free_mib": self.free_mib,
            "total_mib": self.total_mib,
            "evicts": list(self.evicts),
            "reason": self.reason,
        }


@dataclass(frozen=True, slots=True)
class AdditionPlan:
    """The model that an addition makes.

    `source` is the source in its canonical form: a path on a hub at a commit, or a path of files. `added` is
    what is registered: its definition, its configuration as in a configuration file (without `model_path`,
    which follows from its origin), the origin and the size. `downloads` are the artifacts of which this host
    lacks files, each at a commit; empty if the model can be registered at once. `configuration` is for
    people: complete, without secrets.
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
    raise NotImplementedError
