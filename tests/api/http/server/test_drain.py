"""A process that shuts down takes requests for a while, and tells load balancers to send no more."""

from __future__ import annotations

import json
import signal
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ValkeyServer
from tests.support.served_api import serving
from tests.support.waiting import scaled, wait_until

NOT_READY = (503, {"status": "not_ready", "reason": "draining"})


def answer_of(url: str) -> tuple[int, dict[str, Any]]:
    try:
        with urllib.request.urlopen(url, timeout=scaled(5)) as response:
            return response.status, json.loads(response.read())
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read())


@pytest.mark.rule("runner/ready", "runner/unavailable-while-starting")
def test_a_process_that_drains_is_not_ready_and_still_takes_requests(
    shared_server: ValkeyServer, tmp_path: Path
) -> None:
    variables = {"STOKER_API__DRAIN_DELAY_S": str(scaled(1.5))}
    with serving(shared_server, tmp_path, variables) as served:
        url = served.url
        assert answer_of(f"{url}/ready") == (200, {"status": "ready"})
        assert answer_of(f"{url}/v1/capabilities")[0] == 200
        served.process.send_signal(signal.SIGTERM)
        wait_until(lambda: answer_of(f"{url}/ready") == NOT_READY, 1)
        status, body = answer_of(f"{url}/v1/capabilities")
        assert (status, body["error"]["code"]) == (503, "draining")
        assert answer_of(f"{url}/live")[0] == answer_of(f"{url}/v1/models")[0] == 200
        assert served.process.wait(scaled(15)) == 0
