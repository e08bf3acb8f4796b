"""The contract with the requests of concrete models: the demo model in any engine, and the stub."""

from __future__ import annotations

from dataclasses import replace

import pytest

from config.version import version
from generation.generation import Generation, Message, NamedTool, Tool, ToolCall, text_content
from tests.backends.conftest import Launched, ask
from tests.backends.contract import WEATHER, EngineContract, called
from tests.backends.contract_control import ControlContract
from tests.backends.contract_sampling import ZEROS, SamplingContract

LETTERS = "größer 🔥 日本語  \n naïve"
TIME = Tool("get_time", "The time in a city.", WEATHER.parameters)
WEATHER_OF_LETTERS = Tool(
    WEATHER.name,
    WEATHER.description,
    {"type": "object", "properties": {"city": {"enum": [LETTERS]}}, "required": ["city"]},
)


class DemoModelContract(ControlContract, SamplingContract, EngineContract):
    """The contract for the demo model."""

    rendered = "<|im_start|>user\nWhat is the capital of Norway?<|im_end|>\n<|im_start|>assistant\n"

    def short(self, **fields: object) -> Generation:
        return ask("What is the capital of Norway?", **{"temperature": 0.0, **fields})

    def long(self, **fields: object) -> Generation:
        """The demo model has not learned zeros: only the context ends their answer."""
        return ask(ZEROS, **{"temperature": 0.0, **fields})

    def varied(self, seed: int) -> Generation:
        """A prompt outside the training data: learned answers are the same at any temperature."""
        return ask(ZEROS, temperature=2.0, seed=seed, max_tokens=40)

    def too_long(self) -> Generation:
        return ask("word " * 5000)

    def thinking(self) -> Generation:
        return ask("Think: what is 3+4?", thinking="enabled", temperature=0.0)

    def test_a_tool_call_is_complete(self, shared: Launched) -> None:
        request = ask("What is the weather in Oslo?", tools=(WEATHER,), temperature=0.0)
        assert called(shared, request) == ("get_weather", {"city": "Oslo"})

    @pytest.mark.parametrize("arguments", ['{"city": "Os', "[1, 2", "", "NaN", '"', "null", "{}"])
    def test_a_conversation_continues_after_an_incomplete_tool_call(
        self, shared: Launched, arguments: str
    ) -> None:
        """After an answer that was cut off in a call, clients send the incomplete call back."""
        messages = (
            Message("user", text_content("What is the weather in Oslo?")),
            Message("assistant", tool_calls=(ToolCall("call_1", WEATHER.name, arguments),)),
            Message("tool", text_content("It is sunny."), tool_call_id="call_1"),
        )
        answer = shared.answer(replace(ask("", tools=(WEATHER,), max_tokens=64), messages=messages))
        assert answer.finish is not None
        assert answer.finish.usage.output_tokens > 0


class GrammarModelContract(DemoModelContract):
    """The contract for the demo model in an engine whose grammars enforce the schema of a forced call."""

    def measured(self) -> Generation:
        return ask("Count to one hundred.", temperature=0.0, max_tokens=100)

    def test_a_chosen_tool_is_called(self, shared: Launched) -> None:
        fields = {"tools": (WEATHER, TIME), "tool_choice": NamedTool("get_time"), "temperature": 0.0}
        name, arguments = called(shared, ask("What is the weather in Oslo?", max_tokens=400, **fields))
        assert name == "get_time"
        assert isinstance(arguments, dict)
        assert list(arguments) == ["city"]

    def test_letters_of_all_scripts_are_not_split(self, shared: Launched) -> None:
        """Each of these letters is several tokens of the demo model."""
        fields = {"tools": (WEATHER_OF_LETTERS,), "tool_choice": "required", "temperature": 0.0}
        request = ask("What is the weather in Oslo?", max_tokens=400, **fields)
        assert called(shared, request) == ("get_weather", {"city": LETTERS})


class StubContract(EngineContract):
    """The contract for the stub, whose requests control its answers."""

    names_stops = True

    seeded = False  # the answer is the same each time
    rendered = "a few words that are the same each time"

    @classmethod
    def version(cls) -> str:
        """The stub has the version of Stoker."""
        return version()

    def short(self, **fields: object) -> Generation:
        return ask("a few words that are the same each time", **fields)

    def long(self, **fields: object) -> Generation:
        return ask("/stub tokens=200 tokens_per_s=100", **fields)

    def flushed(self) -> Generation:
        return ask("/stub tokens=40 tokens_per_s=100")

    def measured(self) -> Generation:
        return ask("/stub tokens=100 tokens_per_s=0")

    def too_long(self) -> Generation:
        return ask("word " * 4097)

    def bad(self) -> Generation:
        return ask("/stub tokens=many")

    def thinking(self) -> Generation:
        return ask("a question", thinking="enabled")

    def test_a_tool_call_is_complete(self, shared: Launched) -> None:
        request = ask("/stub tool_call=get_weather in Oslo", tools=(WEATHER,))
        assert called(shared, request) == ("get_weather", {"echo": "in Oslo"})

    def test_letters_of_all_scripts_are_not_split(self, shared: Launched) -> None:
        assert shared.answer(ask(f"/stub echo {LETTERS}")).text == LETTERS
