"""The `vllm_serve` backend, held to the contract."""

from __future__ import annotations

import json
import urllib.error
import urllib.request

import pytest

from tests.backends.conftest import Launched
from tests.backends.vllm.vllm_contract import MARKS, VllmContract

pytestmark = list(MARKS)


class TestVllmServe(VllmContract):
    backend = "vllm_serve"

    @pytest.mark.parametrize("path", ["/v1/models", "/version", "/metrics", "/openapi.json"])
    def test_nothing_of_it_answers_without_its_key(self, shared: Launched, path: str) -> None:
        assert shared.engine._client.get(path, with_key=False)[0] == 401

    def test_nobody_generates_where_vllm_asks_for_no_key(self, shared: Launched) -> None:
        body = {"model": "model", "messages": [{"role": "user", "content": "Hi"}], "max_tokens": 1}
        port = shared.engine._client.port
        request = urllib.request.Request(
            f"http://127.0.0.1:{port}/invocations",
            json.dumps(body).encode(),
            {"Content-Type": "application/json"},
        )
        with pytest.raises(urllib.error.HTTPError) as caught:
            urllib.request.urlopen(request, timeout=10)
        assert caught.value.code == 401
