"""The contract of both vLLM backends, which includes the death of the engine's core process."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from pathlib import Path

import orjson
import pytest

from backends.base import GenerationError
from config.settings import ModelDefinition
from engines.engine_process.errors import EngineLost
from generation.generation import Generation, Message, Sampling, text_content
from streams.events import ToolCallDelta
from tests.backends.conftest import NAMESPACE, Launched, Start, ask
from tests.backends.contract import WEATHER
from tests.backends.contract_local import LocalEngineContract
from tests.backends.contract_models import ZEROS, GrammarModelContract
from tests.support.process_groups import core_of, group_is_gone, members
from tests.support.waiting import scaled

MARKS = (pytest.mark.timeout(400), pytest.mark.rule("field/llama-server-vllm-serve"))

NORWAY = (
    Message("user", text_content("What is the capital of Norway?")),
    Message("assistant", text_content("The capital of Norway is Oslo.")),
)
"""Earlier messages, so that a prompt fills a whole block of the cache: only whole blocks are reused."""

EXIT_TIMEOUT_S = 10.0
LISTENING = "0A"
LOOPBACK = ("0100007F", "00000000000000000000000001000000", "0000000000000000FFFF00000100007F")


class VllmContract(GrammarModelContract, LocalEngineContract):
    checkpoint: Path
    load_s = 150.0
    names_stops = True
    bounds_penalties = knows_vocabulary = True
    drops_namespaces = False
    rendered = (
        "<|im_start|>user\nWhat is the capital of Norway?<|im_end|>\n"
        "<|im_start|>assistant\nThe capital of Norway is Oslo.<|im_end|>\n"
        "<|im_start|>user\nCount to twenty.<|im_end|>\n<|im_start|>assistant\n"
    )

    @pytest.fixture(scope="class", autouse=True)
    @classmethod
    def prepared(cls, demo_checkpoint: Path) -> None:
        cls.checkpoint = demo_checkpoint

    def model(self, **fields: object) -> ModelDefinition:
        options = {
            "vllm_max_model_len": 2048,
            "vllm_kv_cache_memory_bytes": 64 << 20,
            "vllm_chat_template_kwargs": {"enable_thinking": False},
        }
        named = {"model_path": str(self.checkpoint), "prompt_format": "qwen3_template", "options": options}
        return ModelDefinition("model", self.backend, **{**named, **fields})

    def short(self, **overrides: object) -> Generation:
        messages = (*NORWAY, Message("user", text_content("Count to twenty.")))
        fields = {"cache_namespace": NAMESPACE}
        fields |= {name: overrides.pop(name) for name in list(overrides) if name.startswith("cache_")}
        return Generation("model", messages, Sampling(**{"temperature": 0.0, **overrides}), **fields)

    def flushed(self) -> Generation:
        messages = (*NORWAY, Message("user", text_content(ZEROS)))
        return Generation("model", messages, Sampling(temperature=0.0, max_tokens=400))

    def test_the_capacity_of_the_prefix_cache_is_the_tokens_that_its_memory_has_room_for(
        self, shared: Launched
    ) -> None:
        config = orjson.loads((self.checkpoint / "config.json").read_bytes())
        numbers = 2 * config["num_hidden_layers"] * config["num_key_value_heads"] * config["head_dim"]
        capacity, sizes = shared.engine.facts.cache_capacity, [2 * numbers, 4 * numbers]  # 16 or 32 bits
        assert any(0.9 < capacity * size / (64 << 20) <= 1 for size in sizes), (capacity, sizes)

    def test_a_tool_is_called_only_when_there_is_a_reason(self, shared: Launched) -> None:
        answer = shared.answer(ask("What is the capital of Norway?", tools=(WEATHER,), temperature=0.0))
        assert answer.text == "The capital of Norway is Oslo."
        assert not [delta for delta in answer.deltas if isinstance(delta, ToolCallDelta)]

    def test_the_context_in_force_is_that_of_one_request(self, shared: Launched) -> None:
        assert shared.engine.context == 2048
        with pytest.raises(GenerationError, match=r"the prompt has (5011|at least 2049) tokens; 2047"):
            shared.answer(self.too_long())
        answer = shared.answer(self.short(max_tokens=100_000))  # more than the context has
        assert answer.finish is not None
        assert answer.finish.reason == "stop"

    def test_the_engine_listens_on_this_machine_only(self, shared: Launched) -> None:
        assert listening(shared.engine.pid) <= set(LOOPBACK)

    def test_an_engine_whose_core_dies_is_lost(self, start: Start) -> None:
        launched = start(self.model())
        answer, thread = launched.begin(self.long())
        assert answer.first_delta.wait(scaled(10))
        os.kill(core_of(launched.engine.pid), signal.SIGKILL)
        thread.join(EXIT_TIMEOUT_S)
        assert isinstance(answer.error, EngineLost)
        assert answer.error.code == "engine_crashed"
        assert launched.exits.get(timeout=EXIT_TIMEOUT_S).expected is False
        assert group_is_gone(launched.engine.pid)


def listening(engine: int | None) -> set[str]:
    """Return the addresses that an engine's processes listen at, in the kernel's notation."""
    assert engine is not None
    sockets = set()
    for link in (link for pid in members(engine) for link in Path(f"/proc/{pid}/fd").iterdir()):
        with suppress(FileNotFoundError):  # closed in the meantime
            sockets.add(str(link.readlink()))
    addresses = set()
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/{engine}/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == LISTENING and f"socket:[{fields[9]}]" in sockets:
                addresses.add(fields[1].partition(":")[0])
    return addresses
