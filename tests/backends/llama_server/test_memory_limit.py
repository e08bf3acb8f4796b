"""The limit to the memory that llama-server allocates."""

from __future__ import annotations

import sys
from pathlib import Path

import orjson
import pytest

from backends.base import LoadError
from backends.llama_server.server_engine import LlamaServerEngine
from backends.llama_server.server_errors import server_error
from tests.backends.conftest import Start, ask
from tests.backends.llama_server.test_llama_server import llama
from tests.backends.llama_server.test_prompts import memory_kib

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the limit is one of Linux")

LIMIT_MIB = 600


def test_a_request_that_needs_more_memory_than_the_limit_fails_and_the_engine_goes_on(start: Start) -> None:
    launched = start(llama(memory_limit_mib=LIMIT_MIB))
    engine = launched.engine
    assert isinstance(engine, LlamaServerEngine)
    # past the adapter, which refuses such a prompt
    body = orjson.dumps({"prompt": "word <x> " * 4_000_000})
    status, answer = engine._client.post("/v1/completions", body)
    error = server_error(status, orjson.dumps(answer), ask(""))
    assert (error.code, str(error)) == ("engine_error", "the engine has no memory left for this request")
    assert memory_kib(Path(f"/proc/{engine.pid}/status")) < (LIMIT_MIB + 100) * 1024
    finish = launched.answer(ask("hi")).finish
    assert finish is not None
    assert finish.reason == "stop"


def test_a_load_that_needs_more_memory_than_the_limit_names_it(start: Start) -> None:
    with pytest.raises(LoadError, match=r"raise llama_server_memory_limit_mib if it is set"):
        start(llama(memory_limit_mib=300, n_ctx=4096 * 8), slots=64)
