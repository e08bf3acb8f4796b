"""The models of a presets file of llama-server (`models_preset`), as registered models.

A registered model of a preset has the digest of its section in its origin, so that a section that has not
changed costs nothing. The catalogue follows the file: a new section is registered, a changed one registered
again, one that has gone removed, each as soon as its model is not loaded. Models of the configuration, and
those that were added in another way, win over sections of their name.
"""

from __future__ import annotations

import fcntl
import hashlib
import logging
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import orjson

from config.presets import MAX_BYTES, Preset, Presets, parse_presets
from config.settings import Settings
from fleet.adding.plan import AdditionPlan
from fleet.dynamic_model import DynamicModel, is_name, link_folder
from fleet.fleet import Fleet
from fleet.load_request import LoadOutcome
from fleet.operation_index import OPEN, OperationFilter
from store.errors import StokerError

logger = logging.getLogger("fleet")

Planner = Callable[..., AdditionPlan]
LINK_PREFIX = "preset-"
"""How the names of links to the folders of sections begin, in the data folder's links."""


@dataclass(frozen=True, slots=True)
class PresetsReport:
    """What a look at the file has led to. `problems` and `notes` are sentences for operators.

    `waiting` are the models whose section has changed or gone, and that wait until they are not loaded.
    """

    problems: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    waiting: tuple[str, ...] = ()


class PresetService:
    """Keeps the registered models of presets as the file has them. Methods raise `StorageUnavailable`.

    `plan` is `fleet.adding.plan.plan_addition`; `notify` sends the workers what an outcome names.
    """

    def __init__(
        self, fleet: Fleet, settings: Settings, plan: Planner, notify: Callable[[LoadOutcome], None]
    ) -> None:
        self._fleet = fleet
        self._settings = settings
        self._plan = plan
        self._notify = notify
        self._lock = threading.Lock()
        self._report = PresetsReport()
        self._reported: frozenset[str] = frozenset()
        self.is_pending = False
        """Whether something of the file could not be done yet: a model is in use, a hub is not reached."""

    @property
    def is_configured(self) -> bool:
        """Whether there is a presets file."""
        return self._settings.models_preset is not None

    def reload(self, *, waits: bool = True) -> PresetsReport:
        """Read the file, and register and remove what has changed. A file with a problem changes nothing.

        It may take long, since a section may name files on a hub. One call after another; one that does not
        wait for its turn returns the last report, so that calls of clients hold no threads.
        """
        if not self.is_configured or not self._lock.acquire(blocking=waits):
            return self._report
        try:
            self._report = self._reload()
        finally:
            self._lock.release()
        return self._report

    def _reload(self) -> PresetsReport:
        self.is_pending = True  # also when an error ends this call
        presets = self._read()
        report = PresetsReport(presets.problems, presets.notes)
        if not presets.problems:
            with self._between_processes():
                report = self._apply(presets)
        self.is_pending = bool(report.waiting) or (bool(report.problems) and not presets.problems)
        self._log(report)
        return report

    @contextmanager
    def _between_processes(self) -> Iterator[None]:
        """One API process of a host registers at a time; the next one finds that it has nothing to do."""
        folder = self._settings.data_dir
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / "presets.lock").open("w") as handle:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield

    def _read(self) -> Presets:
        path = self._settings.models_preset
        try:
            with open(path or "", "rb") as file:  # noqa: PTH123 - bounded: a file may grow
                data = file.read(MAX_BYTES + 1)
            return parse_presets(data.decode("utf-8-sig"))  # editors of Windows begin a file with a mark
        except OSError as error:
            return Presets(problems=(f"models_preset cannot be read: {error.strerror}",))
        except UnicodeDecodeError:
            return Presets(problems=("models_preset is no text in UTF-8",))

    def _apply(self, presets: Presets) -> PresetsReport:
        problems: list[str] = []
        notes, waiting = list(presets.notes), []
        registered = self._fleet.registered.read()
        for preset in presets.models:
            where = f"[{preset.name}]"
            known = registered.get(preset.name)
            if preset.name in self._settings.models:
                notes.append(f"{where} is not used: the configuration has a model of this name")
            elif known is not None and not known.origin.preset:
                notes.append(f"{where} is not used: a model of this name was added")
            elif not is_name(preset.name):
                problems.append(f"{where} cannot be the name of a model")
            elif known is None or known.origin.preset != digest_of(preset):
                try:
                    if not self._register(preset, known):
                        waiting.append(preset.name)
                except (StokerError, ValueError) as error:
                    problems.append(f"{where} cannot be registered: {error}")
        gone = self._made_by_presets(registered) - {preset.name for preset in presets.models}
        waiting += self._remove(sorted(gone))
        self._drop_unused_links()
        return PresetsReport(tuple(problems), tuple(notes), tuple(waiting))

    @staticmethod
    def _made_by_presets(registered: Mapping[str, DynamicModel]) -> set[str]:
        return {name for name, model in registered.items() if model.origin.preset}

    def _register(self, preset: Preset, known: DynamicModel | None) -> bool:
        """Register a model, or begin its download; False if it has to be unloaded first."""
        if known is not None and self._is_in_use(preset.name):
            return False
        if known is None and self._is_downloading(preset.name):
            return True
        plan = self._planned(preset)
        origin = replace(plan.added.origin, preset=digest_of(preset))
        definition = replace(plan.added.definition, origin=origin.to_dict())
        model = replace(plan.added, origin=origin, definition=definition)
        if plan.downloads:
            outcome = self._fleet.registered.begin_download(model, plan.downloads, replace=known is not None)
            self._notify(outcome)
        else:
            self._fleet.registered.register(model, replace=known is not None)
        return True

    def _remove(self, names: Iterable[str]) -> list[str]:
        """Remove models whose sections have gone; returns those that have to be unloaded first."""
        waiting = []
        for name in names:
            if self._is_in_use(name):
                waiting.append(name)
                continue
            self._notify(self._fleet.registered.begin_removal(name))
        return waiting

    def _is_in_use(self, name: str) -> bool:
        row = self._fleet.row(name)
        return str(row.state) not in ("unloaded", "failed") or bool(row.hosted)

    def _is_downloading(self, name: str | None) -> bool:
        page = self._fleet.operation_index.page(1, wanted=OperationFilter("download", name, OPEN))
        return page is not None and bool(page.operations)

    def _planned(self, preset: Preset) -> AdditionPlan:
        """The plan of a section, with the preferred one of the backends that take its arguments."""
        source, backends = self._reachable(preset.source), list(preset.options)
        if len(backends) > 1:
            plan = self._plan(self._fleet, source, preset.name, preset.fields, allowed=backends)
            backends = [plan.added.definition.backend]
        configuration = {
            name: self._reachable_value(value) for name, value in preset.configuration(backends[0]).items()
        }
        return self._plan(self._fleet, source, preset.name, configuration)

    def _reachable_value(self, value: Any) -> Any:
        """A path, or paths by name, as `_reachable` has them; any other value as it is."""
        if isinstance(value, dict):
            return {name: self._reachable_value(below) for name, below in value.items()}
        return self._reachable(value) if isinstance(value, str) and value.startswith("/") else value

    def _reachable(self, path: str) -> str:
        """A path that models may have: of a file elsewhere on this host, through a link to its folder.

        Someone with access to this host wrote the presets file, as the links. Raises `ValueError`.
        """
        given = Path(path).expanduser()
        base, links = self._settings.model_base_path, link_folder(self._settings)
        if not given.is_absolute() or given.is_relative_to(links) or (base and given.is_relative_to(base)):
            return path
        if not given.exists():
            raise ValueError(f"{path} is not there")
        link = links / f"{LINK_PREFIX}{hashlib.sha256(str(given.parent).encode()).hexdigest()[:12]}"
        links.mkdir(parents=True, exist_ok=True)
        if not link.is_symlink():
            link.symlink_to(given.parent)
        return str(link / given.name)

    def _drop_unused_links(self) -> None:
        """Remove the links of sections that have gone, or could not be registered: they lead API keys there.

        Not while a download is under way, whose model may need one.
        """
        if self._is_downloading(None):
            return
        self._fleet.registered.read()
        texts = [str(model) for model in self._fleet.catalogue.models.values()]
        for link in link_folder(self._settings).glob(f"{LINK_PREFIX}*"):
            if link.is_symlink() and not any(link.name in text for text in texts):
                link.unlink(missing_ok=True)

    def _log(self, report: PresetsReport) -> None:
        """Log each sentence once."""
        sentences = frozenset((*report.problems, *report.notes))
        for sentence in report.problems:
            if sentence not in self._reported:
                logger.error("models_preset: %s", sentence)
        for sentence in report.notes:
            if sentence not in self._reported:
                logger.warning("models_preset: %s", sentence)
        self._reported = sentences


def digest_of(preset: Preset) -> str:
    """A digest of all that a section says."""
    said: Any = [preset.source, preset.fields, preset.options]
    return hashlib.sha256(orjson.dumps(said, option=orjson.OPT_SORT_KEYS)).hexdigest()[:16]
