"""Files of this machine as the source of a model: links in the data folder of a platform that runs here."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from config.load import load_settings
from stoker.client import ApiClientError
from stoker.data_folder import write_run
from stoker.local_files import LINKS, LocalSource, local_source

URL = "http://127.0.0.1:1"


@pytest.fixture
def settings(tmp_path, monkeypatch):
    monkeypatch.setenv("STOKER_DATA_DIR", str(tmp_path / "data"))
    (tmp_path / "data").mkdir()
    write_run(tmp_path / "data", {"url": URL})
    return replace(load_settings(is_client=True), model_base_path=None)


def files_in(folder: Path, *names: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        (folder / name).write_bytes(b"GGUF")
    return folder / names[0]


@pytest.mark.parametrize(
    "text", ["owner/name", "owner/name:Q4_K_M", "hf://owner/name", "https://huggingface.co/a/b"]
)
def test_a_source_that_is_no_path_here_stays_as_it_is(settings, text):
    assert local_source(text, settings, URL) == LocalSource(text)


def test_a_file_below_model_base_path_is_not_linked(settings, tmp_path):
    file = files_in(tmp_path / "weights", "m.gguf")
    settings = replace(settings, model_base_path=tmp_path / "weights")
    assert local_source(str(file), settings, URL) == LocalSource(str(file))


def test_a_file_elsewhere_is_linked_with_its_parts_and_its_companions(settings, tmp_path):
    names = ("m-00001-of-00002.gguf", "m-00002-of-00002.gguf", "mmproj-F16.gguf", "other.gguf", "notes.txt")
    file = files_in(tmp_path / "weights", *names)

    found = local_source(str(file), settings, URL)
    folder = settings.data_dir / LINKS / "m"
    assert found == LocalSource(str(folder / names[0]), folder)
    assert {link.name: link.readlink() for link in folder.iterdir()} == {
        name: file.with_name(name) for name in names[:3]
    }
    assert local_source(str(file), settings, URL) == LocalSource(found.source), "it is found again"

    found.drop()
    assert not folder.exists()
    assert file.exists()


def test_two_files_of_one_name_have_folders_of_their_own(settings, tmp_path):
    sources = [
        local_source(str(files_in(tmp_path / folder, "m.gguf")), settings, URL).source for folder in "ab"
    ]
    links = settings.data_dir / LINKS
    assert sources == [str(links / "m" / "m.gguf"), str(links / "m-2" / "m.gguf")]


def test_a_folder_is_linked_and_its_quantization_stays(settings, tmp_path):
    folder = files_in(tmp_path / "weights" / "qwen", "m-Q4_K_M.gguf", "m-Q8_0.gguf").parent

    found = local_source(f"{folder}:Q8_0", settings, URL)
    link = settings.data_dir / LINKS / "qwen" / "qwen"
    assert found.source == f"{link}:Q8_0"
    assert link.readlink() == folder


def test_a_file_here_is_out_of_the_reach_of_a_platform_elsewhere(settings, tmp_path):
    file = files_in(tmp_path / "weights", "m.gguf")
    with pytest.raises(ApiClientError, match="is out of the reach of the platform at http://far:1, whose"):
        local_source(str(file), settings, "http://far:1")
    assert not (settings.data_dir / LINKS).exists()
