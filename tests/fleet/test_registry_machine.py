"""Additions, downloads, removals, loads and restarts in random order, on the real scripts and a real file.

After every step the registered models are those that ended downloads and registrations have made, whatever
was killed or lost in between, and no operation is left behind.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import redis
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from config.hub_artifact import HubArtifact
from config.settings import Settings
from fleet.dynamic_model import Origin, dynamic_model
from fleet.errors import NoWorker, StateConflict
from fleet.load_request import LoadOutcome
from fleet.models_file import ModelsFile
from store.errors import UnknownModel
from tests.support.simulated_platform import SimulatedPlatform

NAMES, WORKERS, CONTEXTS = ("one", "two", "three"), ("w1", "w2"), (256, 512)
COMMIT = "0123456789" * 4
EXAMPLES = itertools.count()
REFUSALS = (StateConflict, UnknownModel, NoWorker)

names = strategies.sampled_from(NAMES)
contexts = strategies.sampled_from(CONTEXTS)
workers = strategies.sampled_from(WORKERS)


class RegistryMachine(RuleBasedStateMachine):
    """`expected` is the context of each registered model, `saved` the same when the file was written last."""

    def __init__(self, client: redis.Redis, settings: Settings, folder: Path) -> None:
        super().__init__()
        number = next(EXAMPLES)
        prefix = f"{settings.redis.prefix}-{number}"
        settings = replace(
            settings, redis=replace(settings.redis, prefix=prefix), data_dir=folder / str(number)
        )
        self.platform = SimulatedPlatform(client, settings)
        self.file = ModelsFile(settings.data_dir, self.platform.fleet.scripts)
        self.expected: dict[str, int] = {}
        self.saved: dict[str, int] = {}
        self.downloads: dict[str, tuple[str, int]] = {}  # operation -> model, context
        self.alive: set[str] = set()
        self.outcomes: list[LoadOutcome] = []
        self.register_worker("w1")

    # ---- what callers ask for

    @rule(name=names, context=contexts, again=strategies.booleans())
    def register(self, name: str, context: int, again: bool) -> None:
        with suppress(*REFUSALS):
            self.platform.fleet.registered.register(self.made(name, context), replace=again)
            self.expected[name] = context

    @rule(name=names, context=contexts, again=strategies.booleans())
    def begin_download(self, name: str, context: int, again: bool) -> None:
        artifact = HubArtifact("owner/name", COMMIT, f"{name}.gguf")
        with suppress(*REFUSALS):
            outcome = self.platform.fleet.registered.begin_download(
                self.made(name, context), [artifact], replace=again
            )
            if outcome.begun and outcome.operation is not None:
                self.downloads[outcome.operation.id] = name, context

    @rule(data=strategies.data())
    def cancel(self, data: strategies.DataObject) -> None:
        if (id := self.drawn(data, self.downloads)) is not None:
            operation = self.platform.fleet.operation(id)
            assert operation is not None
            with suppress(StateConflict):
                self.platform.fleet.registered.cancel(operation)
                del self.downloads[id]

    @rule(name=names)
    def remove(self, name: str) -> None:
        with suppress(*REFUSALS):
            self.platform.fleet.registered.begin_removal(name)
            del self.expected[name]

    @rule(name=names)
    def load(self, name: str) -> None:
        with suppress(*REFUSALS):
            outcome = self.platform.fleet.load(name)
            if outcome.begun:
                self.outcomes.append(outcome)

    @rule(name=names)
    def unload(self, name: str) -> None:
        with suppress(*REFUSALS):
            for item in self.platform.fleet.unload(name).assignments:
                if item.worker in self.alive:
                    self.platform.stopped(item.replica, item.worker)

    # ---- what workers do

    @rule()
    def start_engines(self) -> None:
        for outcome in self.outcomes:
            for item in outcome.assignments:
                if item.worker in self.alive and self.platform.starting(item.replica, item.worker):
                    self.platform.up(item.replica, item.worker)
        self.outcomes.clear()

    @rule(worker=workers, fails=strategies.booleans())
    def do_file_work(self, worker: str, fails: bool) -> None:
        fleet = self.platform.fleet
        for id in self.work_of(worker):
            work = fleet.file_work(worker, id)
            assert work is not None
            if work.kind == "remove":
                fleet.removal_ended(id, worker, 1, 10)
            elif fails:
                fleet.download_ended(id, worker, ("disk_full", "no space"))
                self.downloads.pop(id, None)
            else:
                assert fleet.download_progress(id, worker, 0.5, "half")
                fleet.download_ended(id, worker)
                name, context = self.downloads.pop(id)
                ended = fleet.operation(id)
                assert ended is not None
                if ended.code is None:
                    self.expected[name] = context

    @rule(worker=workers, data=strategies.data())
    def report_late(self, worker: str, data: strategies.DataObject) -> None:
        """A report by a worker that has the download no more, or never had it, changes nothing."""
        id = self.drawn(data, self.downloads)
        if id is not None and id not in self.stored(f"file_work:{worker}"):
            self.platform.fleet.download_ended(id, worker)

    @rule(worker=workers)
    def register_worker(self, worker: str) -> None:
        self.platform.register(worker)
        self.alive.add(worker)

    @rule(worker=workers)
    def lose_worker(self, worker: str) -> None:
        if worker in self.alive:
            incarnation = self.platform.incarnations[worker]
            self.platform.fleet.registry.deregister(worker, incarnation, "gone")
            self.alive.discard(worker)

    @rule(minutes=strategies.sampled_from([0, 2]))
    def look_for_work(self, minutes: int) -> None:
        for scripts in (self.platform.fleet.scripts, self.platform.ledger.scripts):
            scripts.offset_us += minutes * 60_000_000
        self.platform.fleet.registered.resume()

    # ---- the platform, its file and its Redis

    @rule()
    def save(self) -> None:
        self.file.sync()
        self.saved = dict(self.expected)

    @rule()
    def restart(self) -> None:
        self.platform.fleet.reset_to_configuration()
        self.alive.clear()
        self.outcomes.clear()
        ModelsFile(self.platform.settings.data_dir, self.platform.fleet.scripts).sync()
        self.saved = dict(self.expected)

    @rule()
    def lose_redis(self) -> None:
        """Redis loses everything, and each process that runs on brings the file's models back."""
        for key in self.platform.client.scan_iter(f"{self.platform.prefix}*"):
            self.platform.client.delete(key)
        self.alive.clear()
        self.outcomes.clear()
        self.downloads.clear()
        self.expected = dict(self.saved)
        self.file.sync()

    # ---- what always holds

    @invariant()
    def the_registered_models_are_the_expected_ones(self) -> None:
        found = self.platform.fleet.registered.read()
        assert {
            name: model.definition.options["gguf_n_ctx"] for name, model in found.items()
        } == self.expected
        assert self.members("registered_models") == set(found)
        assert {*self.stored("dynamic_models")} == set(found), "no model is left by a load or a removal"

    @invariant()
    def each_open_operation_belongs_to_one_model_and_to_workers(self) -> None:
        opened = self.stored("file_operations")
        assert {id for id, (name, _) in self.downloads.items()} <= {*opened.values()}
        for name, id in opened.items():
            operation = self.platform.fleet.operation(id)
            assert operation is not None
            assert (operation.model, operation.finished_at) == (name, None)
            waits_for = self.members(f"file_workers:{id}")
            assert waits_for
            assert all(id in self.stored(f"file_work:{worker}") for worker in waits_for)
        for worker in WORKERS:
            for id in self.stored(f"file_work:{worker}"):
                operation = self.platform.fleet.operation(id)
                assert operation is not None
                assert id in opened.values() or operation.kind == "remove"

    @invariant()
    def a_loaded_model_is_registered(self) -> None:
        for name in NAMES:
            state = self.platform.client.hget(f"{self.platform.prefix}model:{name}", "state")
            assert name in self.expected or state in (None, b"unloaded"), (name, state)

    def teardown(self) -> None:
        """Everything ends when the workers run."""
        for worker in WORKERS:
            self.register_worker(worker)
        self.platform.fleet.registered.resume()
        for worker in WORKERS:
            self.do_file_work(worker, fails=False)
        assert self.stored("file_operations") == {}
        self.save()
        assert self.file.read().models.keys() == self.expected.keys()

    # ---- helpers

    def made(self, name: str, context: int) -> Any:
        origin = Origin("hub", f"{name}.gguf", "owner/name", COMMIT)
        configuration = {"backend": "llama_cpp", "gguf_n_ctx": context}
        return dynamic_model(name, configuration, origin, 30, self.platform.settings)

    def work_of(self, worker: str) -> list[str]:
        return [*self.stored(f"file_work:{worker}")] if worker in self.alive else []

    def stored(self, key: str) -> dict[str, str]:
        found: dict[bytes, bytes] = self.platform.client.hgetall(self.platform.prefix + key)  # type: ignore[assignment]
        return {field.decode(): value.decode() for field, value in found.items()}

    def members(self, key: str) -> set[str]:
        found: set[bytes] = self.platform.client.smembers(self.platform.prefix + key)  # type: ignore[assignment]
        return {member.decode() for member in found}

    def drawn(self, data: strategies.DataObject, items: dict[str, Any]) -> str | None:
        # by their order: the ids are random
        return [*items][data.draw(strategies.sampled_from(range(len(items))))] if items else None


@pytest.mark.slow
def test_registered_models_stay_right_in_any_order_of_events(
    client: redis.Redis, settings: Settings, tmp_path: Path
) -> None:
    make: Callable[[], RegistryMachine] = lambda: RegistryMachine(client, settings, tmp_path)  # noqa: E731
    run_state_machine_as_test(
        make, settings=hypothesis_settings(max_examples=15, stateful_step_count=30, deadline=None)
    )
