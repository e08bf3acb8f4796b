"""The summary of a running platform, and the model that is asked first."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

from config.commands import program
from config.generated_keys import ensure_keys
from config.settings import ModelDefinition
from stoker.welcome import Addresses, model_to_ask, welcome

MODELS = {
    "far": ModelDefinition("far", "openai_remote"),
    "my-model": ModelDefinition("my-model", "llama_cpp"),
    "stoker-demo": ModelDefinition("stoker-demo", "llama_server"),
    "test": ModelDefinition("test", "stub"),
    "hears": ModelDefinition("hears", "whisper"),
}


@pytest.mark.parametrize(
    ("loaded", "asked"),
    [
        (["hears"], None),
        (["hears", "test"], "test"),
        (["test", "my-model", "stoker-demo"], "stoker-demo"),
        (["test", "my-model"], "my-model"),
        (["test", "far"], "test"),
        (["far"], None),
        ([], None),
    ],
)
def test_the_first_question_goes_to_the_demo_model_and_to_a_stub_only_if_it_is_alone(loaded, asked):
    assert model_to_ask(loaded, MODELS) == asked


def test_the_summary_names_the_file_of_the_admin_key_and_the_program(tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    keys = ensure_keys(tmp_path / "data")
    text = "\n".join(welcome(Addresses("http://127.0.0.1:1"), keys, tmp_path / "data", None))

    assert "Admin key admin_key in data/keys.json" in text
    assert keys.admin_key not in text
    assert json.loads(Path("data/keys.json").read_text())["admin_key"] == keys.admin_key
    assert f"Commands  {program()} status | run | pull" in text


def test_the_summary_names_the_files_of_all_secrets_without_keys(tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    keys = ensure_keys(tmp_path / "data")
    urls = Addresses("http://127.0.0.1:1", flower="http://127.0.0.1:2", ui="http://127.0.0.1:1/ui/")
    text = "\n".join(welcome(urls, None, tmp_path / "data", "test"))

    assert "Key       api_key in data/keys.json" in text
    assert "(user stoker, flower_password in data/keys.json)" in text
    (command,) = re.findall(r'-H "Authorization: Bearer \$\((.*)\)" -H', text)
    assert subprocess.run(["/bin/sh", "-c", command], capture_output=True, text=True, check=True).stdout == (
        f"{keys.api_key}\n"
    )
    assert not any(secret in text for secret in (keys.api_key, keys.admin_key, keys.flower_password))
    assert f"'Authorization: Bearer {keys.api_key}'" in "\n".join(welcome(urls, keys, tmp_path, "test"))


def test_the_summary_has_the_address_that_signs_in_to_the_ui(tmp_path: Path):
    keys = ensure_keys(tmp_path / "data")
    link = "http://127.0.0.1:1/ui/sign-in#token"
    lines = welcome(Addresses("http://127.0.0.1:1", ui=link), keys, tmp_path / "data", None)
    assert f"  UI        {link} (signs in once, within 5 minutes)" in lines
    lines = welcome(Addresses("http://127.0.0.1:1"), keys, tmp_path / "data", None)
    assert not any(line.startswith("  UI ") for line in lines)
