"""Files of this machine as the source of a model: links in the data folder of a platform that runs here."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from config.load import load_settings
from fleet.dynamic_model import link_folder
from stoker.client import ApiClientError
from stoker.data_folder import write_run
from stoker.local_files import LocalSource, drop_unused_link, local_source

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


def test_the_folder_of_a_file_elsewhere_is_linked_once(settings, tmp_path):
    file = files_in(tmp_path / "weights", "m-Q8_0.gguf", "mmproj-F16.gguf")
    link = link_folder(settings) / "weights"

    found = local_source(str(file), settings, URL)
    assert found == LocalSource(str(link / "m-Q8_0.gguf"), link)
    assert link.readlink() == file.parent
    assert local_source(str(file), settings, URL) == LocalSource(found.source), "it is found again"
    assert local_source(found.source, settings, URL) == LocalSource(found.source)

    found.drop()
    assert not link.is_symlink()
    assert file.exists()


def test_two_folders_of_one_name_have_links_of_their_own(settings, tmp_path):
    folders = [files_in(tmp_path / place / "qwen", "m.gguf").parent for place in "ab"]
    sources = [local_source(f"{folder}:Q4_K_M", settings, URL).source for folder in folders]
    links = link_folder(settings)
    assert sources == [f"{links / 'qwen'}:Q4_K_M", f"{links / 'qwen-2'}:Q4_K_M"]


def test_a_link_goes_with_the_last_model_that_has_its_path_through_it(settings, tmp_path):
    found = local_source(str(files_in(tmp_path / "weights", "a.gguf", "b.gguf")), settings, URL)
    link = link_folder(settings) / "weights"

    drop_unused_link(found.source, [str(link / "b.gguf"), "/elsewhere"], settings)
    assert link.is_symlink()
    drop_unused_link("/elsewhere", [], settings)
    assert link.is_symlink()
    drop_unused_link(found.source, ["/elsewhere"], settings)
    assert not link.is_symlink()


def test_a_path_that_leads_to_nothing_is_one_sentence_where_the_platform_runs_here(settings):
    words = (
        "there is no file or folder /nonexist.gguf on this machine; a model on a hub is written owner/name"
    )
    with pytest.raises(ApiClientError, match=words):
        local_source("/nonexist.gguf", settings, URL)
    assert local_source("/nonexist.gguf", settings, "http://far:1") == LocalSource("/nonexist.gguf")


def test_a_file_here_is_out_of_the_reach_of_a_platform_elsewhere(settings, tmp_path):
    file = files_in(tmp_path / "weights", "m.gguf")
    with pytest.raises(ApiClientError, match="is out of the reach of the platform at http://far:1, whose"):
        local_source(str(file), settings, "http://far:1")
    assert not (link_folder(settings)).exists()
