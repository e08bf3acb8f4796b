"""The `vllm_serve` backend, tested against the contract."""

from __future__ import annotations

import json
import urllib.error
import urllib.request

import pytest

from tests.backends.conftest import Launched
from tests.backends.vllm.vllm_contract import MARKS, VllmContract
from tests.support.waiting import scaled

pytestmark = [pytest.mark.engines, *MARKS]


class TestVllmServe(VllmContract):
    backend = "vllm_serve"
    reports_cache_use = reports_cache_size = True
    cache_unit = "tokens"

    @pytest.mark.parametrize("path", ["/v1/models", "/version", "/metrics", "/openapi.json"])
    def test_no_endpoint_answers_without_the_key(self, shared: Launched, path: str) -> None:
        assert shared.engine._client.get(path, with_key=False)[0] == 401

    def test_endpoints_that_vllm_leaves_open_require_the_key(self, shared: Launched) -> None:
        body = {"model": "model", "messages": [{"role": "user", "content": "Hi"}], "max_tokens": 1}
        port = shared.engine._client.port
        request = urllib.request.Request(
            f"http://127.0.0.1:{port}/invocations",
            json.dumps(body).encode(),
            {"Content-Type": "application/json"},
        )
        with pytest.raises(urllib.error.HTTPError) as caught:
            urllib.request.urlopen(request, timeout=scaled(10))
        assert caught.value.code == 401
