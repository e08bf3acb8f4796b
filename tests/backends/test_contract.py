"""The backends that every installation has, tested against the contract."""

from __future__ import annotations

import os

import pytest

from config.settings import ModelDefinition
from tests.backends.conftest import DEMO_MODEL, NATIVE, Launched
from tests.backends.contract_local import LocalEngineContract
from tests.backends.contract_models import GrammarModelContract, StubContract

pytestmark = pytest.mark.rule("field/llama-server-vllm-serve", "unload/resource-release")


class TestStub(StubContract, LocalEngineContract):
    backend = "stub"

    def model(self, **fields: object) -> ModelDefinition:
        return ModelDefinition("model", "stub", options={"stub_load_s": 0.02}, **fields)


@pytest.mark.engines
class TestLlamaServer(GrammarModelContract, LocalEngineContract):
    backend = "llama_server"
    reports_cache_use = True
    cache_unit = "sequences"
    counts_prompt = True
    binary: str | None = None

    def model(self, **fields: object) -> ModelDefinition:
        options = {"llama_server_n_ctx": 4096, "llama_server_threads": 1, "llama_server_binary": self.binary}
        return ModelDefinition("model", "llama_server", model_path=str(DEMO_MODEL), options=options, **fields)

    def test_the_context_in_force_is_that_of_one_request(self, shared: Launched) -> None:
        assert shared.engine.context == 4096


if NATIVE in os.environ:

    class TestNativeLlamaServer(TestLlamaServer):
        """The same with a native binary, if there is one."""

        kind = "native"
        binary = os.environ[NATIVE]

        @classmethod
        def version(cls) -> str:
            """The version of the installed library is not that of the binary."""
            return ""
