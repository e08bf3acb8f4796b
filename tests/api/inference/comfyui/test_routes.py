"""/v1/comfyui/prompts over the fakes: rights, rules, inputs, and the forms of the answer."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from io import BytesIO
from typing import Any

import pytest
from flask.testing import FlaskClient

from config.settings import ModelDefinition, Settings
from generation.generation import Generation
from generation.media import WorkflowTask
from streams.events import End, Usage
from streams.media_events import MediaDelta, WorkProgress
from tests.api.conftest import ADMIN_KEY, OTHER_KEY
from tests.backends.comfyui.conftest import edit_workflow, workflow
from tests.support.api_fakes import Fakes
from tests.support.pictures import png

ROUTE = "/v1/comfyui/prompts"
DATA_URL = f"data:image/png;base64,{base64.b64encode(png(8, 8)).decode()}"
MADE = [
    WorkProgress(1, 2),
    MediaDelta(0, "preview-0.jpg", "image/jpeg", 70, 8, 8, preview=0),
    WorkProgress(2, 2),
    MediaDelta(0, "image-0.png", "image/png", 99, 64, 64),
    End("completed", "stop", usage=Usage(images=1, pixel_steps=8192), run_ms=5),
]


@pytest.fixture
def settings(settings: Settings) -> Settings:
    painter = ModelDefinition("painter", "comfyui", options={"comfyui_max_images": 2})
    tenants = {**settings.tenants, "one": replace(settings.tenants["one"], comfyui_workflows=True)}
    models = {**settings.models, "painter": painter}
    return replace(settings, models=models, tenants=tenants)


def error_of(answer: Any) -> tuple[int, str, str | None]:
    error = answer.get_json()["error"]
    return answer.status_code, error["code"], error["param"]


def test_a_workflow_is_refused_when_its_tenant_may_not_run_any(http: FlaskClient, fakes: Fakes) -> None:
    body = {"model": "painter", "prompt": workflow(), "background": True}
    answers = {
        key: http.post(ROUTE, json=body, headers={"Authorization": f"Bearer {key}"})
        for key in (OTHER_KEY, ADMIN_KEY)
    }
    assert error_of(answers[OTHER_KEY]) == (403, "workflows_not_allowed", None)
    assert answers[ADMIN_KEY].status_code == 200
    assert [job.tenant for job in fakes.ledger.jobs.values()] == ["boss"]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"prompt": {}}, ("invalid_workflow", "prompt")),
        ({"prompt": {"1": {"class_type": "Exec", "inputs": {}}}}, ("invalid_workflow", "prompt.1")),
        ({"prompt": workflow(steps=10_000)}, ("invalid_workflow", "prompt.5")),
        ({"prompt": edit_workflow()}, ("invalid_workflow", "prompt.4")),  # its image is not an input
        ({"prompt": [1]}, ("invalid_request", "prompt")),
        ({"inputs": {"a.png": 1}}, ("invalid_request", "inputs.a.png")),
        ({"inputs": {"a.png": "data:image/png;base64,!!"}}, ("invalid_request", "inputs.a.png")),
        ({"inputs": {"a.png": "data:image/png;base64,AAAA"}}, ("invalid_request", "inputs.a.png")),
        ({"inputs": {"a.png": "data:text/html,x"}}, ("invalid_request", "inputs.a.png")),
        ({"inputs": {"a.png": "file-unknown"}}, ("not_found", "inputs.a.png")),
        ({"inputs": {"a\n.png": DATA_URL}}, ("invalid_request", "inputs")),
        ({"inputs": {f"{number}.png": DATA_URL for number in range(17)}}, ("invalid_request", "inputs")),
        ({"model": "demo"}, ("wrong_endpoint", "model")),
    ],
)
def test_a_workflow_is_refused_with_the_path_of_what_is_wrong(
    http: FlaskClient, fakes: Fakes, settings: Settings, changes: dict[str, Any], expected: tuple[str, str]
) -> None:
    answer = http.post(ROUTE, json={"model": "painter", "prompt": workflow(), **changes})
    assert error_of(answer)[1:] == expected
    assert not fakes.ledger.jobs
    left = [
        path for path in (settings.data_dir / "files").rglob("*") if path.name.startswith(("in-", "file"))
    ]
    assert left == []


def test_an_image_of_too_many_pixels_is_refused(http: FlaskClient) -> None:
    bomb = png(8, 8)[:16] + (20_000).to_bytes(4, "big") * 2 + png(8, 8)[24:]
    inputs = {"a.png": f"data:image/png;base64,{base64.b64encode(bomb).decode()}"}
    answer = http.post(ROUTE, json={"model": "painter", "prompt": workflow(), "inputs": inputs})
    assert error_of(answer) == (400, "unsupported_input", "inputs.a.png")


def test_an_upload_counts_at_its_own_size_whatever_other_nodes_name(http: FlaskClient, fakes: Fakes) -> None:
    fakes.ledger.script = None
    large = png(8, 8)[:16] + (4000).to_bytes(4, "big") * 2 + png(8, 8)[24:]
    inputs = {"example.png": f"data:image/png;base64,{base64.b64encode(large).decode()}"}
    graph = edit_workflow()
    graph["99"] = {"class_type": "EmptyLatentImage", "inputs": {"width": 16, "height": 16, "batch_size": 1}}
    body = {"model": "painter", "prompt": graph, "inputs": inputs, "background": True}
    assert http.post(ROUTE, json=body).status_code == 200
    assert fakes.ledger.only().cost == 4000 * 4000 * 2 // 100_000


def test_a_deleted_workflow_is_gone_with_its_images(
    http: FlaskClient, fakes: Fakes, settings: Settings
) -> None:
    fakes.ledger.script = list(MADE)
    found = http.post(ROUTE, json={"model": "painter", "prompt": workflow()}).get_json()
    (folder,) = (settings.data_dir / "files").glob(f"*/jobs/{found['id']}")
    (folder / "image-0.png").write_bytes(b"image")
    assert http.delete(f"{ROUTE}/{found['id']}").get_json()["deleted"] is True
    assert list(folder.iterdir()) == []


def test_a_job_has_its_images_by_their_names_in_the_folder(
    http: FlaskClient, fakes: Fakes, settings: Settings
) -> None:
    fakes.ledger.script = None
    body = {"model": "painter", "prompt": edit_workflow(), "inputs": {"example.png": DATA_URL}}
    answer = http.post(ROUTE, json={**body, "background": True})
    assert answer.status_code == 200, answer.get_json()
    found = answer.get_json()
    assert (found["object"], found["status"], found["images"]) == ("comfyui.prompt", "queued", [])
    job = fakes.ledger.only()
    assert (job.id, job.store) == (found["id"], True)
    task = Generation.from_json(job.generation).media
    assert isinstance(task, WorkflowTask)
    assert task.inputs == ("in-0",)
    assert task.graph["4"]["inputs"]["image"] == "in-0"
    assert (settings.data_dir / "files" / task.folder / "in-0").read_bytes() == png(8, 8)
    assert job.cost == task.estimated_units


def test_a_file_of_the_files_api_is_an_image_of_a_workflow(http: FlaskClient, fakes: Fakes) -> None:
    form = {"purpose": "user_data", "file": (BytesIO(png(8, 8)), "fox.png")}
    file = http.post("/v1/files", data=form).get_json()
    fakes.ledger.script = list(MADE)
    body = {"model": "painter", "prompt": edit_workflow(), "inputs": {"example.png": file["id"]}}
    answer = http.post(ROUTE, json=body)
    assert answer.get_json()["status"] == "completed", answer.get_json()


def test_the_answer_has_urls_of_the_finished_images_only(http: FlaskClient, fakes: Fakes) -> None:
    fakes.ledger.script = list(MADE)
    found = http.post(ROUTE, json={"model": "painter", "prompt": workflow()}).get_json()
    assert found["status"] == "completed"
    assert found["usage"] == {"images": 1, "pixel_steps": 8192}
    assert found["progress"] == {"done": 2, "total": 2}
    (image,) = found["images"]
    assert f"/v1/media/{found['id']}/image-0.png?expires=" in image["url"]
    assert (image["width"], image["content_type"], image["cached"]) == (64, "image/png", False)
    fetched = http.get(f"{ROUTE}/{found['id']}").get_json()
    assert [one["width"] for one in fetched["images"]] == [64]
    assert http.get(f"{ROUTE}/{found['id']}", headers={"Authorization": "Bearer x"}).status_code == 401


def test_a_stream_has_progress_images_and_the_whole_at_its_end(http: FlaskClient, fakes: Fakes) -> None:
    fakes.ledger.script = list(MADE)
    answer = http.post(ROUTE, json={"model": "painter", "prompt": workflow(), "stream": True})
    frames = [json.loads(line[6:]) for line in answer.text.splitlines() if line.startswith("data: {")]
    assert [frame["type"].rpartition(".")[2] for frame in frames] == [
        *("created", "progress", "partial_image", "progress", "image", "completed")
    ]
    assert frames[2]["partial_image_index"] == 0
    assert frames[-1]["prompt"]["images"][0]["url"] == frames[4]["image"]["url"]
    assert frames[4]["image"]["url"].startswith("http://localhost/v1/media/")


def test_a_failed_workflow_is_an_error_and_shows_its_reason_when_it_is_fetched(
    http: FlaskClient, fakes: Fakes
) -> None:
    fakes.ledger.script = [End("failed", code="engine_error", message="out of memory", run_ms=3)]
    answer = http.post(ROUTE, json={"model": "painter", "prompt": workflow()})
    assert error_of(answer)[:2] == (500, "engine_error")
    found = http.get(f"{ROUTE}/{fakes.ledger.only().id}").get_json()
    assert (found["status"], found["error"]) == (
        "failed",
        {"code": "engine_error", "message": "out of memory"},
    )
