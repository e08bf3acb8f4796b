"""Every adapter, held to the contract."""

from __future__ import annotations

import os

from config.settings import ModelDefinition
from streams.events import ToolCallDelta
from tasks.wire import Generation, Tool
from tests.runtimes.conftest import DEMO_MODEL, NATIVE, Launched, ask
from tests.runtimes.contract import STORY, WEATHER, RuntimeContract, called


class TestStub(RuntimeContract):
    backend = "stub"

    def model(self, **fields: object) -> ModelDefinition:
        return ModelDefinition("model", "stub", options={"stub_load_s": 0.02}, **fields)

    def short(self, **wishes: object) -> Generation:
        return ask("a few words that are the same each time", **wishes)

    def long(self, **wishes: object) -> Generation:
        return ask("/stub tokens=100 tokens_per_s=200", **wishes)

    def measured(self) -> Generation:
        return ask("/stub tokens=100")

    def too_long(self) -> Generation:
        return ask("word " * 4097)

    def bad(self) -> Generation:
        return ask("/stub tokens=many")

    def thinking(self) -> Generation:
        return ask("a question", thinking="enabled")

    def test_a_tool_call_comes_whole(self, shared: Launched) -> None:
        request = ask("/stub tool_call=get_weather in Oslo", tools=(WEATHER,))
        assert called(shared, request) == ("get_weather", {"echo": "in Oslo"})

    def test_letters_of_all_scripts_stay_whole(self, shared: Launched) -> None:
        text = "größer 🔥 日本語  \n naïve"
        assert shared.answer(ask(f"/stub echo {text}")).text == text


class TestLlamaServer(RuntimeContract):
    backend = "llama_server"
    binary: str | None = None

    def model(self, **fields: object) -> ModelDefinition:
        options = {"llama_server_n_ctx": 2048, "llama_server_threads": 1, "llama_server_binary": self.binary}
        return ModelDefinition("model", "llama_server", model_path=str(DEMO_MODEL), options=options, **fields)

    def short(self, **wishes: object) -> Generation:
        return ask("What is the capital of Norway?", **{"temperature": 0.0, **wishes})

    def long(self, **wishes: object) -> Generation:
        """Whatever the demo model knows, a grammar makes it go on: a call whose argument is long."""
        call = {"tools": (STORY,), "tool_choice": "required"}
        return ask("Tell me a story.", **{"max_tokens": 1800, **call, **wishes})

    def measured(self) -> Generation:
        return ask("Count to one hundred.", temperature=0.0, max_tokens=100)

    def too_long(self) -> Generation:
        return ask("word " * 3000)

    def thinking(self) -> Generation:
        return ask("Think: what is 3+4?", thinking="enabled", temperature=0.0)

    def test_a_tool_call_comes_whole(self, shared: Launched) -> None:
        request = ask("What is the weather in Oslo?", tools=(WEATHER,), temperature=0.0)
        assert called(shared, request) == ("get_weather", {"city": "Oslo"})

    def test_a_tool_that_is_chosen_is_called(self, shared: Launched) -> None:
        other = Tool("get_time", "The time in a city.", WEATHER.parameters)
        wishes = {"tools": (WEATHER, other), "tool_choice": "get_time", "temperature": 0.0}
        deltas = shared.answer(ask("What is the weather in Oslo?", max_tokens=400, **wishes)).deltas
        assert next(delta.name for delta in deltas if isinstance(delta, ToolCallDelta)) == "get_time"

    def test_letters_of_all_scripts_stay_whole(self, shared: Launched) -> None:
        """A hot model says bytes that are parts of letters; none may leave as half a letter."""
        answer = shared.answer(ask("Say anything.", temperature=3.0, seed=3, max_tokens=400))
        assert all(delta.text.encode("utf-8").decode("utf-8") == delta.text for delta in answer.deltas)

    def test_the_context_in_force_is_that_of_one_request(self, shared: Launched) -> None:
        assert shared.engine.context == 2048


if NATIVE in os.environ:

    class TestNativeLlamaServer(TestLlamaServer):
        """The same with a native binary, where there is one."""

        binary = os.environ[NATIVE]
