"""The logs of all processes as JSON: each line is an object, and no text of a client is in it."""

from __future__ import annotations

import base64
import json
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from tests.journeys.conftest import ON_THE_CPU, STUBS
from tests.support.platform import Platform, running_platform
from tests.support.waiting import scaled

pytestmark = [pytest.mark.journey, pytest.mark.slow]

SECRET = "the-secret-word-of-a-prompt"
LOGS = ("api.log", "worker-cpu0.log", "flower.log")


def read(folder: Path, name: str) -> list[dict[str, Any]]:
    lines = (folder / "data" / "logs" / name).read_text().splitlines()
    return [json.loads(line) for line in lines]


def refused_by_flower(platform: Platform) -> int:
    secret = base64.b64encode(b"stoker:wrong").decode()
    request = urllib.request.Request(
        f"{platform.run['flower']}/", headers={"Authorization": f"Basic {secret}"}
    )
    with pytest.raises(urllib.error.HTTPError) as caught:
        urllib.request.urlopen(request, timeout=scaled(10))
    return caught.value.code


def test_every_line_is_json_and_each_request_has_one_access_line_without_texts(tmp_path: Path) -> None:
    models = {"stub": STUBS["stub"], "stoker-demo": {"enabled": False}}
    environment = {**ON_THE_CPU, "LOG_FORMAT": "json"}
    with running_platform(tmp_path, {"models": models}, "--port", "0", environment=environment) as platform:
        platform.wait_state("stub", "loaded")
        body = {"model": "stub", "input": f"/stub tokens=3 {SECRET}"}
        status, answer, headers = platform.request("POST", "/v1/responses", body)
        assert status == 200
        with platform.sdk() as client, client.responses.create(**body, stream=True) as stream:
            streamed = next(iter(stream)).response.id
            list(stream)
        assert platform.call("GET", f"/v1/responses/{answer['id']}?secret={SECRET}")[0] == 200
        assert platform.call("GET", "/v1/models", key=f"sk-{SECRET}")[0] == 401
        assert platform.call("POST", "/v1/responses", {"model": "stub", SECRET: SECRET})[0] == 400
        assert refused_by_flower(platform) == 401
        assert platform.stop() == 0

    lines = {name: read(tmp_path, name) for name in LOGS}
    access = [line for line in lines["api.log"] if line["logger"] == "api.access"]
    by_response = {
        line["response_id"]: line for line in access if line["method"] == "POST" and "model" in line
    }
    whole = by_response[answer["id"]]
    assert whole["message"] == "POST /v1/responses 200"
    assert (whole["status"], whole["tenant"], whole["model"]) == (200, "default", "stub")
    assert whole["request_id"] == headers["x-request-id"]
    assert whole["bytes"] > len(json.dumps(answer))
    assert whole["ms"] > 0
    assert by_response[streamed]["status"] == 200
    assert [line["tenant"] for line in access if line["path"] == f"/v1/responses/{answer['id']}"] == [
        "default"
    ]
    assert {line["status"] for line in access} >= {200, 400, 401}
    assert "tenant" not in next(line for line in access if line["status"] == 401)
    for name in LOGS:
        assert lines[name][0]["level"] == "info", name
        text = (tmp_path / "data" / "logs" / name).read_text()
        assert SECRET not in text, name
        assert not [key for key in platform.keys.values() if str(key) in text], name
