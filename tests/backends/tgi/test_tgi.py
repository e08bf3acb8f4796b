"""The `tgi` backend on the double of TGI, tested against the contract."""

from __future__ import annotations

import os
import signal
from dataclasses import replace
from pathlib import Path

import pytest

from backends.tgi import tgi_engine
from config.settings import ModelDefinition
from engines.engine_process.errors import EngineError, EngineLost
from generation.generation import Generation
from tests.backends.conftest import Launched, Start, ask
from tests.backends.contract import WEATHER, called
from tests.backends.contract_local import LocalEngineContract
from tests.backends.contract_lora import LoraContract
from tests.backends.tgi.models import CONTEXT, model_in
from tests.support.waiting import scaled


@pytest.fixture(autouse=True)
def _slow_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give the double as much more time to count a prompt as the machine needs for everything."""
    monkeypatch.setattr(tgi_engine, "COUNT_TIMEOUT_S", scaled(tgi_engine.COUNT_TIMEOUT_S))


class TestTgi(LoraContract, LocalEngineContract):
    backend = "tgi"
    caches_prompts = False
    thinks = False
    names_stops = True
    reports_cache_use = True
    rendered = "<|user|>Count to twelve.<|end|><|assistant|>"
    folder: Path

    @pytest.fixture(scope="class", autouse=True)
    @classmethod
    def prepared(cls, tmp_path_factory: pytest.TempPathFactory) -> None:
        cls.folder = tmp_path_factory.mktemp("model")

    @classmethod
    def version(cls) -> str:
        """The version that the double has."""
        return "3.3.7"

    def model(self, **fields: object) -> ModelDefinition:
        return model_in(self.folder, **fields)

    def model_with_loras(self, folder: Path) -> ModelDefinition:
        paths = {}
        for name in ("pirate", "poet"):
            (folder / name).mkdir()
            (folder / name / "adapter_config.json").write_text("{}")
            paths[name] = str(folder / name)
        return model_in(folder / "model", lora=paths)

    def short(self, **fields: object) -> Generation:
        return ask("Count to twelve.", **{"temperature": 0.0, **fields})

    def long(self, **fields: object) -> Generation:
        return ask("Count for ever.", **{"temperature": 0.0, **fields})

    def varied(self, seed: int) -> Generation:
        return ask("Count at random.", seed=seed)

    def too_long(self) -> Generation:
        return ask("word " * 5000)

    def bad(self) -> Generation:
        return replace(ask(""), messages=(), prompt="")

    def test_a_tool_call_is_complete(self, shared: Launched) -> None:
        request = ask("What is the weather in Oslo?", tools=(WEATHER,), temperature=0.0)
        assert called(shared, request) == ("get_weather", {"city": "Oslo"})

    def test_a_router_that_is_killed_ends_the_engine(self, start: Start) -> None:
        launched = start(self.model())
        answer, thread = launched.begin(self.long())
        assert answer.first_delta.wait(scaled(10))
        pid = launched.engine.pid
        (router,) = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        os.kill(int(router), signal.SIGKILL)
        thread.join()
        assert isinstance(answer.error, EngineError)
        assert launched.exits.get(timeout=scaled(10)).expected is False
        with pytest.raises(EngineLost):
            launched.answer(self.short())

    def test_the_context_in_force_is_that_of_the_server(self, shared: Launched) -> None:
        assert shared.engine.context == CONTEXT
