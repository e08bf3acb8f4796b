"""The models that a process serves: those of the configuration, and the dynamic ones in Redis.

A look-up is one in a dictionary of this process. Whether Redis has other dynamic models is asked by a
version: by an API process twice a second (`api.inference.catalogue_follower`), by others before they use the
catalogue, if they have not asked for `POLL_S`, and by all of them for a name that they do not know.
"""

from __future__ import annotations

import hashlib
import logging
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import redis

from config.commands import with_runnable_commands
from config.settings import ModelDefinition, Settings
from fleet.dynamic_model import DynamicModel, decode_dynamic_model, is_kept, is_name
from store.errors import UnknownModel
from store.scripts import redis_errors_translated

logger = logging.getLogger("fleet")

POLL_S = 0.4
"""How often a process asks whether anything was changed: every change is known everywhere within a second."""


@dataclass(frozen=True, slots=True)
class UnreadableModel:
    """A registered model that this host cannot use, and why; `digest` is that of its definition."""

    problem: str
    digest: str


@dataclass(frozen=True, slots=True)
class _Read:
    """What was read at one moment: never changed, but replaced as a whole."""

    version: str
    models: Mapping[str, ModelDefinition]
    dynamic: Mapping[str, DynamicModel]
    unreadable: Mapping[str, UnreadableModel]


class ModelCatalogue:
    """All models by name. Thread-safe. What asks Redis raises `StorageUnavailable`.

    The configuration wins: a dynamic model with the name of a configured one is not in the catalogue.
    """

    def __init__(self, client: redis.Redis, settings: Settings) -> None:
        self.settings = settings
        self.version_key = f"{{{settings.redis.prefix}}}:dynamic_models_version"
        self._models_key = f"{{{settings.redis.prefix}}}:dynamic_models"
        self._client: Any = client
        self._lock = threading.Lock()
        self._asked_at = float("-inf")
        self._logged: dict[str, str] = {}
        self._read = _Read("", settings.models, {}, {})

    @property
    def models(self) -> Mapping[str, ModelDefinition]:
        """The models as this process knows them, those of the configuration first."""
        return self._read.models

    @property
    def dynamic(self) -> Mapping[str, DynamicModel]:
        """Those of them that the configuration does not name."""
        return self._read.dynamic

    @property
    def unreadable(self) -> Mapping[str, UnreadableModel]:
        """The registered models that this host cannot use, by name; they are in no other list."""
        return self._read.unreadable

    def get(self, name: str) -> ModelDefinition | None:
        """The model of that name, as far as this process knows. Does no I/O."""
        return self._read.models.get(name)

    def may_exist(self, name: str) -> bool:
        """Whether Redis may have a model of that name that this process does not know. Does no I/O."""
        return name not in self._read.models and is_name(name)

    def definition(self, name: str, param: str = "model", *, after_s: float = 0.0) -> ModelDefinition:
        """The model of that name; Redis is asked for a name that this process does not know.

        It is not asked again if it was less than `after_s` ago. Raises `UnknownModel`, which names the
        request's field `param`.
        """
        found = self.get(name)
        if found is None and self.may_exist(name):
            self.refresh(after_s=after_s)
            found = self.get(name)
        if found is None:
            raise unknown_model(name, param)
        return found

    def current(self, name: str, param: str = "model") -> ModelDefinition:
        """The model of that name as Redis has it now: it may have been removed, or defined in another way.

        Raises as `definition`.
        """
        if name in self._read.dynamic:
            self.refresh()
        return self.definition(name, param)

    def refresh(self, *, after_s: float = 0.0) -> None:
        """Read what was changed; does nothing if it was asked less than `after_s` ago."""
        came_at = time.monotonic()
        with self._lock:
            # one of the calls that wait here reads for all of them
            if self._asked_at > came_at or came_at - self._asked_at < after_s:
                return
            asked_at = time.monotonic()
            with redis_errors_translated():
                version = self._client.get(self.version_key)
                if (version or b"").decode() != self._read.version:
                    self._read_all()
            self._asked_at = asked_at

    def take_version(self, version: bytes | None) -> bool:
        """Take the version that another connection has just read. Returns whether `refresh` has to read."""
        if (version or b"").decode() != self._read.version:
            return True
        self._asked_at = time.monotonic()
        return False

    def _read_all(self) -> None:
        pipeline = self._client.pipeline(transaction=True)
        version, stored = pipeline.get(self.version_key).hgetall(self._models_key).execute()
        dynamic, unreadable = {}, {}
        for key, data in sorted(stored.items()):
            name = key.decode()
            if name in self.settings.models:
                continue
            try:
                dynamic[name] = decode_dynamic_model(name, data, self.settings)
            except ValueError as error:
                self._log(name, data, str(error))
                if is_kept(data):
                    unreadable[name] = UnreadableModel(str(error), hashlib.sha256(data).hexdigest())
        models = {**self.settings.models, **{name: model.definition for name, model in dynamic.items()}}
        self._read = _Read((version or b"").decode(), models, dynamic, unreadable)

    def _log(self, name: str, data: bytes, problem: str) -> None:
        """Log that a model cannot be used, unless that was logged before."""
        if self._logged.get(name) == problem:
            return
        self._logged[name] = problem
        remedy = f"; `stoker models remove {name}` removes it" if is_kept(data) else ""
        text = with_runnable_commands(
            f"the dynamic model {name} cannot be used on this host: {problem}{remedy}"
        )
        logger.warning("%s", text)


def unknown_model(name: str, param: str = "model") -> UnknownModel:
    """The error for a name without a model."""
    return UnknownModel(f"model {name!r} is not configured", param=param)
