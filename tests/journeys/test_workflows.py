"""Workflows of requests (/v1/comfyui/prompts) on the whole platform, with the double of ComfyUI."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

import openai
import pytest

from tests.backends.comfyui.conftest import edit_workflow, model_options, workflow
from tests.journeys.conftest import ON_THE_CPU
from tests.support.pictures import png
from tests.support.platform import Platform, running_platform
from tests.support.waiting import scaled

pytestmark = [pytest.mark.journey, pytest.mark.slow]

ROUTE = "/v1/comfyui/prompts"
PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture(scope="module")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    folder = tmp_path_factory.mktemp("workflows")
    local = {
        "models": {"painter": {"backend": "comfyui", "enabled": True, **model_options(folder)}},
        "tenants": {"default": {"comfyui_workflows": True}},
    }
    with running_platform(folder, local, "--port", "0", "--no-flower", environment=ON_THE_CPU) as platform:
        platform.wait_state("painter", "loaded", 60)
        yield platform


def run(platform: Platform, graph: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """Run a workflow; it is accepted."""
    status, answer = platform.call("POST", ROUTE, {"model": "painter", "prompt": graph, **fields})
    assert status == 200, answer
    return dict(answer)


def fetch(platform: Platform, id: str) -> dict[str, Any]:
    return dict(platform.call("GET", f"{ROUTE}/{id}")[1])


def test_a_workflow_in_the_background_is_fetched_and_deleted(platform: Platform) -> None:
    with platform.sdk() as sdk:
        file = sdk.files.create(file=("fox.png", png(16, 16)), purpose="user_data")
    begun = run(platform, edit_workflow(), inputs={"example.png": file.id}, background=True)
    assert begun["status"] == "queued"
    platform.wait_for(lambda: fetch(platform, begun["id"])["status"] == "completed", 60, "the end")
    (image,) = fetch(platform, begun["id"])["images"]
    with urllib.request.urlopen(image["url"], timeout=scaled(10)) as answer:
        assert answer.headers["Content-Type"] == "image/png"
        assert answer.read().startswith(PNG)
    (folder,) = (platform.folder / "data" / "files").glob(f"*/jobs/{begun['id']}")
    platform.wait_for(
        lambda: [path.name for path in folder.iterdir()] == ["image-0.png"], 30, "removal of the upload"
    )
    status, _ = platform.call("DELETE", f"{ROUTE}/{begun['id']}")
    assert (status, list(folder.iterdir())) == (200, [])
    with pytest.raises(urllib.error.HTTPError) as gone:
        urllib.request.urlopen(image["url"], timeout=scaled(10))
    assert gone.value.code == 404


def read_events(request: urllib.request.Request) -> tuple[list[dict[str, Any]], list[str]]:
    """The events of a stream, and the last parts of their types."""
    with urllib.request.urlopen(request, timeout=scaled(30)) as answer:
        lines = answer.read().decode().splitlines()
    events = [json.loads(line[6:]) for line in lines if line.startswith("data: {")]
    return events, [event["type"].rpartition(".")[2] for event in events]


def test_a_workflow_streams_its_progress_and_images(platform: Platform) -> None:
    body = {"model": "painter", "prompt": workflow(steps=4, seed=77), "partial_images": 1, "stream": True}
    request = urllib.request.Request(
        platform.url + ROUTE,
        json.dumps(body).encode(),
        {"Authorization": f"Bearer {platform.keys['api_key']}", "Content-Type": "application/json"},
    )
    events, names = read_events(request)
    assert (names[0], names[-1]) == ("created", "completed")
    assert {"progress", "image"} <= set(names)
    assert events[-1]["prompt"]["usage"] == {"images": 1, "pixel_steps": 4 * 64 * 64}
    url = f"{platform.url}{ROUTE}/{events[0]['prompt']['id']}?stream=true"
    again, names_again = read_events(urllib.request.Request(url, headers=dict(request.headers)))
    assert names_again == names
    assert again[-1]["prompt"]["images"][0]["index"] == 0
    assert run(platform, workflow(steps=4, seed=77))["images"][0]["cached"] is True


def test_a_cancelled_workflow_ends_and_the_next_one_runs(platform: Platform) -> None:
    begun = run(platform, workflow(steps=200), background=True)
    status, ended = platform.call("POST", f"/v1/responses/{begun['id']}/cancel", {})
    assert (status, ended["status"]) == (200, "cancelled")
    assert fetch(platform, begun["id"])["status"] == "cancelled"
    assert run(platform, workflow(seed=5))["status"] == "completed"


def test_a_repeated_request_gets_the_workflow_that_the_first_one_began(platform: Platform) -> None:
    body = {"model": "painter", "prompt": workflow(seed=6), "background": True}
    answers = [
        platform.request("POST", ROUTE, body, **{"Idempotency-Key": "workflow-6"})[1] for _ in range(2)
    ]
    assert answers[0]["id"] == answers[1]["id"]


def test_another_tenant_sees_no_workflow_and_may_not_run_one(platform: Platform) -> None:
    begun = run(platform, workflow(seed=7))
    platform.admin("POST", "/v1/admin/tenants", {"name": "other"})
    _, created = platform.admin("POST", "/v1/admin/keys", {"tenant": "other", "scopes": ["inference"]})
    platform.wait_for(lambda: platform.call("GET", "/v1/models", None, created["key"])[0] == 200, 10, "key")
    status, _ = platform.call("GET", f"{ROUTE}/{begun['id']}", None, created["key"])
    assert status == 404
    body = {"model": "painter", "prompt": workflow()}
    status, refused = platform.call("POST", ROUTE, body, created["key"])
    assert (status, refused["error"]["code"]) == (403, "workflows_not_allowed")
    platform.admin("PATCH", "/v1/admin/tenants/other", {"comfyui_workflows": True})
    platform.wait_for(lambda: platform.call("POST", ROUTE, body, created["key"])[0] == 200, 10, "right")


@pytest.mark.filterwarnings("ignore:deprecated")
def test_an_edit_of_something_that_is_no_image_is_refused(platform: Platform) -> None:
    with platform.sdk() as sdk, pytest.raises(openai.BadRequestError) as refused:
        sdk.images.edit(model="painter", prompt="a ship", image=("a.png", b"no image"))
    assert refused.value.param == "image"
