"""POST and DELETE of /models, and the presets file in GET /models: what is added, removed and read again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient

from config.settings import ROOT, Settings
from stoker.models import unreadable_lines
from tests.support.simulated_platform import SimulatedPlatform

DEMO = ROOT / "models" / "stoker-demo.gguf"
URL = "/models"


@pytest.fixture
def settings(settings: Settings, tmp_path: Path) -> Settings:
    base = tmp_path / "base"
    base.mkdir()
    for name in ("own.gguf", "preset.gguf"):
        (base / name).write_bytes(DEMO.read_bytes())
    preset = tmp_path / "presets.ini"
    preset.write_text("[from-file]\nmodel = preset.gguf\n")
    return replace(settings, model_base_path=base, models_preset=preset)


def listed(client: FlaskClient, query: str = "") -> dict[str, Any]:
    answer = client.get(URL + query)
    assert answer.status_code == 200, answer.get_json()
    return {one["id"]: one for one in answer.get_json()["data"]}


def error(answer: Any) -> tuple[int, str, str]:
    body = answer.get_json()["error"]
    assert body["code"] == answer.status_code
    return answer.status_code, body["type"], body["message"]


@pytest.mark.rule("llama-server/router-add")
def test_a_model_is_added_and_removed(admin: FlaskClient) -> None:
    assert admin.post(URL, json={"model": "own.gguf"}).get_json() == {"success": True}
    added = listed(admin)["own.gguf"]
    assert (added["source"], added["can_remove"], added["status"]["value"]) == ("cache", True, "unloaded")
    again = admin.post(URL, json={"model": "own.gguf"})
    assert error(again) == (400, "invalid_request_error", "model 'own.gguf' already exists")
    assert admin.delete(f"{URL}?model=own.gguf").get_json() == {"success": True}
    assert "own.gguf" not in listed(admin)


@pytest.mark.parametrize("url", [f"{URL}?model=own.gguf", "/v1/admin/models/own.gguf"])
def test_a_model_that_this_host_cannot_use_is_named_and_removed(
    url: str, admin: FlaskClient, platform: SimulatedPlatform
) -> None:
    assert admin.post(URL, json={"model": "own.gguf"}).status_code == 200
    key = f"{platform.prefix}dynamic_models"
    stored = str(platform.client.hget(key, "own.gguf"), "utf-8")  # type: ignore[arg-type]
    platform.client.hset(key, "own.gguf", stored.replace('"llama_server"', '"dropped"'))
    platform.client.set(f"{key}_version", "edited")
    answer = admin.get("/v1/admin/models").get_json()
    assert "own.gguf" not in [row["name"] for row in answer["models"]]
    (unreadable,) = answer["unreadable"]
    assert unreadable["name"] == "own.gguf"
    (line,) = unreadable_lines([unreadable])
    assert "dropped" in line
    assert line.endswith("stoker models remove own.gguf` removes it")
    assert admin.delete(url).status_code in (200, 202)
    assert admin.get("/v1/admin/models").get_json()["unreadable"] == []
    assert admin.post(URL, json={"model": "own.gguf"}).status_code == 200


@pytest.mark.rule("llama-server/router-add")
def test_an_addition_is_refused_with_the_reason(admin: FlaskClient) -> None:
    status, kind, message = error(admin.post(URL, json={"model": "not-there.gguf"}))
    assert (status, kind) == (400, "invalid_request_error")
    assert message.startswith("model validation failed, unable to download: ")


@pytest.mark.rule("llama-server/router-add")
def test_models_that_were_not_added_are_not_removed(admin: FlaskClient, platform: SimulatedPlatform) -> None:
    listed(admin, "?reload=1")
    for name in ("demo", "from-file"):
        status, _, message = error(admin.delete(f"{URL}?model={name}"))
        assert (status, message) == (400, f"model name={name} is not removable (not from cache)")
    assert error(admin.delete(f"{URL}?model=nope")) == (404, "not_found_error", "model is not found")
    assert error(admin.delete(URL))[0] == 400
    admin.post(URL, json={"model": "own.gguf"})
    platform.fleet.catalogue.refresh()
    platform.load("own.gguf")
    assert error(admin.delete(f"{URL}?model=own.gguf"))[0] == 409


@pytest.mark.rule("llama-server/router-reload")
def test_a_reload_reads_the_presets_file(admin: FlaskClient, http: FlaskClient, settings: Settings) -> None:
    listed(admin, "?reload=1")  # that of an administrator waits for the one at the start
    first = listed(http, "?reload=1")["from-file"]
    assert (first["source"], first["can_remove"]) == ("preset", False)
    assert first["status"]["args"][0] == "llama-server"
    assert settings.models_preset is not None
    settings.models_preset.write_text("[new]\nmodel = preset.gguf\n")
    assert "from-file" in listed(admin)
    names = listed(admin, "?reload=1").keys()
    assert ("from-file" in names, "new" in names) == (False, True)


@pytest.mark.rule("llama-server/router-reload")
def test_a_file_with_a_problem_is_refused_with_it(
    admin: FlaskClient, http: FlaskClient, settings: Settings
) -> None:
    assert settings.models_preset is not None
    settings.models_preset.write_text("[new]\nmodel = preset.gguf\ntemp = 1\n")
    answer = admin.get(f"{URL}?reload=1")
    assert answer.status_code == 400
    assert "[new] temp has no default for a model here" in answer.get_json()["error"]["message"]
    assert "temp" not in http.get(f"{URL}?reload=1").get_json()["error"]["message"]
