"""The file of registered models: what Redis loses comes back, and what cannot be read is left alone."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import orjson
import pytest

from config.settings import Settings
from fleet.dynamic_model import DynamicModel, Origin, dynamic_model
from fleet.fleet import Fleet
from fleet.models_file import FILE, ModelsFile
from tests.support.simulated_platform import SimulatedPlatform

NAME = "files/extra.gguf"


@pytest.fixture
def settings(settings: Settings, tmp_path: Path) -> Settings:
    return replace(settings, model_base_path=tmp_path, data_dir=tmp_path / "data")


def made(settings: Settings, name: str = NAME, context: int = 256) -> DynamicModel:
    configuration = {"backend": "llama_cpp", "gguf_n_ctx": context}
    return dynamic_model(name, configuration, Origin("path", name), 30, settings)


def opened(platform: SimulatedPlatform) -> ModelsFile:
    """The file as a process sees it that has just started."""
    return ModelsFile(platform.settings.data_dir, platform.fleet.scripts)


def synced(platform: SimulatedPlatform) -> ModelsFile:
    file = opened(platform)
    file.sync()
    return file


def contexts(platform: SimulatedPlatform) -> dict[str, int]:
    models = Fleet(platform.client, platform.settings).registered.read()
    return {name: model.definition.options["gguf_n_ctx"] for name, model in models.items()}


def lose(platform: SimulatedPlatform) -> None:
    """Lose all that Redis has."""
    platform.client.delete(*platform.client.keys(f"{platform.prefix}*"))  # type: ignore[misc]


def test_an_empty_redis_is_filled_from_the_file(platform: SimulatedPlatform) -> None:
    platform.fleet.registered.register(made(platform.settings))
    file = synced(platform)
    assert (file.problem, [*file.read().models]) == (None, [NAME])
    lose(platform)
    assert contexts(platform) == {}
    file.sync()  # by a process that runs on
    assert contexts(platform) == {NAME: 256}
    lose(platform)
    synced(platform)
    assert contexts(platform) == {NAME: 256}
    assert synced(platform).read().revision == file.read().revision


def test_the_higher_revision_wins_over_a_change_and_a_removal(platform: SimulatedPlatform) -> None:
    registry = platform.fleet.registered
    registry.register(made(platform.settings))
    synced(platform)
    registry.register(made(platform.settings, context=512), replace=True)
    registry.register(made(platform.settings, "second"))
    file = synced(platform)
    assert len(file.read().models) == 2
    earlier = platform.settings.data_dir / "earlier"
    earlier.write_bytes(file.path.read_bytes())
    registry.begin_removal("second")
    synced(platform)
    assert [*opened(platform).read().models] == [NAME]
    file.path.write_bytes(earlier.read_bytes())  # the file is the older one
    synced(platform)
    assert contexts(platform) == {NAME: 512}
    assert [*opened(platform).read().models] == [NAME]


def test_a_removal_that_redis_has_lost_is_made_again(platform: SimulatedPlatform) -> None:
    registry = platform.fleet.registered
    registry.register(made(platform.settings))
    synced(platform)
    platform.client.set(f"{platform.prefix}registered_revision", 5)  # as before the removal
    file = opened(platform)
    content = orjson.loads(file.path.read_bytes())
    file.path.write_bytes(orjson.dumps(content | {"models": {}}))
    synced(platform)
    assert contexts(platform) == {}


def test_a_loaded_model_keeps_the_definition_of_its_engines(platform: SimulatedPlatform) -> None:
    registry = platform.fleet.registered
    registry.register(made(platform.settings))
    file = synced(platform)
    platform.finish_load(platform.fleet.load(NAME))
    content = orjson.loads(file.path.read_bytes())
    content["models"][NAME]["configuration"]["gguf_n_ctx"] = 1024
    content["revision"] += 1_000_000_000
    file.path.write_bytes(orjson.dumps(content))
    synced(platform)
    assert contexts(platform) == {NAME: 256}
    assert str(platform.fleet.row(NAME).state) == "loaded"


@pytest.mark.parametrize(
    ("content", "advice"),
    [
        (b"{", "damaged: restore it"),
        (b"[]", "damaged: restore it"),
        (b'{"format": 1, "revision": 1, "models": {"../x": {}}}', "damaged: restore it"),
        (b'{"format": 1, "revision": "x", "models": {}}', "damaged: restore it"),
        (b'{"format": 2, "entries": []}', "later version of Stoker: update"),
    ],
)
def test_a_file_that_cannot_be_used_is_reported_and_left_as_it_is(
    platform: SimulatedPlatform, content: bytes, advice: str
) -> None:
    platform.settings.data_dir.mkdir()
    path = platform.settings.data_dir / FILE
    path.write_bytes(content)
    platform.fleet.registered.register(made(platform.settings))
    file = synced(platform)
    assert advice in (file.problem or "")
    assert path.read_bytes() == content
    assert contexts(platform) == {NAME: 256}
    path.unlink()
    file.sync()
    assert file.problem is None
    assert [*file.read().models] == [NAME]


def test_a_folder_that_cannot_be_written_is_reported(platform: SimulatedPlatform) -> None:
    platform.settings.data_dir.write_text("a file")
    platform.fleet.registered.register(made(platform.settings))
    file = synced(platform)
    assert "writable data folder with free space" in (file.problem or "")


def test_a_full_disk_leaves_the_file_as_it_was_and_is_reported(
    platform: SimulatedPlatform, small_disk: Path
) -> None:
    file = ModelsFile(small_disk, platform.fleet.scripts)
    platform.fleet.registered.register(made(platform.settings))
    file.sync()
    content = file.path.read_bytes()
    filler = small_disk / "filler"
    with suppress(OSError), filler.open("wb", buffering=0) as full:
        while True:
            full.write(bytes(1024))
    platform.fleet.registered.register(made(platform.settings, "second"))
    file.sync()
    assert "No space left on device" in (file.problem or "")
    assert file.path.read_bytes() == content
    assert not file.is_due(b"1"), "not at once"
    filler.unlink()
    file.sync()
    assert (file.problem, sorted(file.read().models)) == (None, [NAME, "second"])


def test_a_file_that_was_read_before_a_change_does_not_undo_it(platform: SimulatedPlatform) -> None:
    platform.fleet.registered.register(made(platform.settings))
    revision = synced(platform).read().revision
    platform.fleet.registered.register(made(platform.settings, context=512), replace=True)
    in_force = platform.fleet.scripts.run(
        "restore_registered", revision=revision, max_models=10, definitions=[]
    )
    assert int(in_force) > revision
    assert contexts(platform) == {NAME: 512}
