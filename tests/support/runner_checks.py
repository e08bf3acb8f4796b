"""The Model Runner API for a model of any backend: state, headers, health, a governed unload and load."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tests.support.gateway import Gateway
from tests.support.platform import Platform, preferred_wait

Send = Callable[[], Mapping[str, str]]
"""Sends a request for inference, and returns the headers of its answer."""


def check_runner(platform: Platform, gateway: Gateway, model: str, runner_type: str, send: Send) -> None:
    """Check a loaded model, and leave it loaded. `runner_type` begins its name and version."""
    headers = send()
    assert int(headers["X-Queue-Wait-Ms"]) >= 0
    assert int(headers["X-GPU-Time-Ms"]) >= 0
    state = capabilities(platform)
    assert any(one.startswith(runner_type) for one in state["runnerType"].split(","))
    (row,) = [row for row in state["models"]["loaded"] if row["id"] == model]
    assert (row["queue"]["depth"], row["queue"]["maxDepth"]) == (0, state["queue"]["maxDepth"])
    assert platform.call("GET", "/health")[1]["status"] == "healthy"

    key = platform.keys["admin_key"]
    unload = gateway.unload(model)
    status, freed, _ = platform.request("POST", "/v1/models/unload", unload, key, Prefer=preferred_wait(60))
    assert (status, freed["modelId"], freed["kvCacheFlushed"]) == (200, model, True), freed
    assert freed["gpuMemoryFreedMB"] == 0  # it ran on the CPU
    platform.wait_for(lambda: model in capabilities(platform)["models"]["available"], 10, "unloaded model")

    status, accepted = platform.admin("POST", "/v1/models/load", gateway.load(model))
    assert (status, accepted["status"]) == (202, "loading"), accepted
    path = f"/v1/models/load/{accepted['taskId']}"
    task = platform.wait_for(
        lambda: (found := platform.admin("GET", path)[1])["status"] != "loading" and found, 120, "load"
    )
    assert (task["status"], task["modelId"], task["gpuMemoryUsedMB"]) == ("completed", model, 0), task
    assert task["loadTimeMs"] > 0
    assert platform.admin("POST", "/v1/models/load", gateway.load(model) | {"verifiedOpToken": {}})[0] == 403
    send()


def capabilities(platform: Platform) -> dict[str, Any]:
    """What `GET /v1/capabilities` answers."""
    status, answer = platform.call("GET", "/v1/capabilities")
    assert status == 200, answer
    found: dict[str, Any] = answer
    return found
