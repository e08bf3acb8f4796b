"""/v1/admin/hub: what an administrator sees of a hub."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from flask.testing import FlaskClient

from api.operations.hub_schema import HubFiles, HubModelList
from api.wiring import make_services
from config.settings import HubSettings, Settings
from tests.api.conftest import ADMIN_KEY, KEY
from tests.fleet.adding.gguf_bytes import gguf
from tests.support.hub_server import HubServer, Repository, serving_hub
from tests.support.wsgi_answers import create_app


def client_of(settings: Settings) -> FlaskClient:
    http = create_app(settings, make_services(settings)).test_client()
    http.environ_base["HTTP_X_API_KEY"] = ADMIN_KEY
    return http


@pytest.fixture
def settings(shared_settings: Settings) -> Settings:
    return shared_settings


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HubServer]:
    files = {"Tiny-Q4_K_M.gguf": gguf(), "Tiny-Q8_0.gguf": gguf(mib=2)}
    with serving_hub({"acme/Tiny-GGUF": Repository(files)}, tmp_path / "hf", monkeypatch) as server:
        yield server


def test_a_search_and_the_files_of_a_repository_are_shown(settings: Settings, hub: HubServer) -> None:
    http = client_of(settings)
    for _ in range(2):
        found = http.get("/v1/admin/hub/models?search=Tiny%20%20GGUF&limit=5").json
        assert [model["repository"] for model in found["data"]] == ["acme/Tiny-GGUF"]
        assert HubModelList().validate(found) == {}
    assert len(hub.searches) == 1, "the answer of the hub is reused"
    for _ in range(2):
        files = http.get("/v1/admin/hub/files?source=acme/Tiny-GGUF@main").json
        assert HubFiles().validate(files) == {}
        assert [choice["label"] for choice in files["choices"]] == ["Q4_K_M", "Q8_0"]
        assert files["choices"][0]["fit"]["verdict"] == "unknown"
    assert len(hub.sent) == 1


@pytest.mark.parametrize(
    ("path", "status", "code", "param"),
    [
        ("files", 400, "invalid_addition", "source"),
        ("files?source=/etc/passwd", 400, "invalid_addition", "source"),
        ("files?source=acme/absent", 404, "hub_not_found", "source"),
        ("files?source=" + "x" * 3000, 400, "invalid_request", "source"),
        ("models?limit=0", 400, "invalid_request", "limit"),
        ("models?limit=1000", 400, "invalid_request", "limit"),
        ("models?search=" + "x" * 300, 400, "invalid_request", "search"),
    ],
)
@pytest.mark.usefixtures("hub")
def test_a_question_that_cannot_be_answered_is_refused_by_its_field(
    settings: Settings, path: str, status: int, code: str, param: str
) -> None:
    answer = client_of(settings).get(f"/v1/admin/hub/{path}")
    assert (answer.status_code, answer.json["error"]["code"]) == (status, code)
    assert answer.json["error"]["param"] == param


def test_only_administrators_ask_a_hub_and_only_where_one_may_be_asked(settings: Settings) -> None:
    http = client_of(Settings(**{**vars(settings), "hub": HubSettings(offline=True)}))
    for path in ("models", "files?source=a/b"):
        answer = http.get(f"/v1/admin/hub/{path}")
        assert (answer.status_code, answer.json["error"]["code"]) == (404, "model_not_downloaded")
        assert http.get(f"/v1/admin/hub/{path}", headers={"X-API-Key": KEY}).status_code == 403
