"""Each backend on the whole platform: loaded, used with the official SDK, killed, frozen, unloaded."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import openai
import pytest

from config.load import load_settings
from tests.backends.conftest import has_ended
from tests.support.flushes import TENANTS, flush, reused
from tests.support.freezing import freeze
from tests.support.platform import Platform, running_platform
from tests.support.process_groups import core_of
from tests.support.waiting import scaled

pytestmark = [pytest.mark.engines, pytest.mark.journey, pytest.mark.timeout(300)]

LOAD_S = 150.0
NAMES = ("llama_cpp", "llama_server", "vllm", "vllm_serve", "ct2")
LIMITS = {"first_event_timeout_s": 10, "idle_timeout_s": 10, "probe_timeout_s": 3}
SHARED = {"prompt_format": "qwen3_template", "target_inflight": 4}


@pytest.fixture(scope="module")
def platform(
    tmp_path_factory: pytest.TempPathFactory, demo_checkpoint: Path, demo_ct2: Path, demo_translator: Path
) -> Iterator[Platform]:
    """A platform with the demo model for each backend, none of them loaded."""
    gguf = {"model_path": "models/stoker-demo.gguf", **SHARED}
    vllm = {
        "model_path": str(demo_checkpoint),
        "vllm_max_model_len": 1024,
        "vllm_kv_cache_memory_bytes": 64 << 20,
        "vllm_chat_template_kwargs": {"enable_thinking": False},  # the demo model thinks only on request
        **SHARED,
    }
    models: dict[str, dict[str, Any]] = {
        "llama_cpp": {"backend": "llama_cpp", "gguf_n_ctx": 1024, "gguf_threads": 1, **gguf},
        "llama_server": {
            "backend": "llama_server",
            "llama_server_n_ctx": 1024,
            "llama_server_threads": 1,
            **gguf,
        },
        "embedder": {
            "backend": "llama_server",
            "llama_server_n_ctx": 1024,
            "llama_server_threads": 1,
            "llama_server_pooling": "mean",
            **gguf,
        },
        "vllm": {"backend": "vllm", **vllm},
        "vllm_serve": {"backend": "vllm_serve", **vllm},
        "ct2": {"backend": "ct2", "model_path": str(demo_ct2), **SHARED},
        "translator": {
            "backend": "ct2",
            "model_path": str(demo_translator),
            "ct2_task": "translate",
            "target_inflight": 4,
        },
    }
    folder = tmp_path_factory.mktemp("up")
    environment = {"CUDA_VISIBLE_DEVICES": "", "STOKER_RUNTIMES_DIR": str(load_settings().runtimes_dir)}
    local = {"limits": LIMITS, "tenants": TENANTS, "models": {**models, "stoker-demo": {"enabled": False}}}
    with running_platform(folder, local, "--port", "0", "--no-flower", environment=environment) as platform:
        yield platform


@pytest.fixture
def sdk(platform: Platform) -> Iterator[openai.OpenAI]:
    with platform.sdk() as client:
        yield client


def loaded(platform: Platform, name: str) -> dict[str, Any]:
    """Load a model if it is not loaded; returns its row."""

    def accepted() -> bool:  # only when a worker runs
        return platform.admin("POST", f"/v1/admin/models/{name}/load", {})[0] in (200, 202)

    platform.wait_for(accepted, 20, f"load of {name}")
    return platform.wait_state(name, "loaded", LOAD_S)


def failure(platform: Platform, name: str) -> str:
    """Wait until a model has failed, though it may be loading again by then; returns the reason."""

    def found() -> str | None:
        _, changes = platform.admin("GET", f"/v1/admin/changes?model={name}")
        return next((one["message"] for one in changes["data"] if one["to"] == "failed"), None)

    reason: str = platform.wait_for(found, 20, f"failure of {name}")
    return reason


@pytest.mark.parametrize("name", NAMES)
def test_a_model_loads_answers_and_recovers_from_crash_and_hang_and_unloads(
    platform: Platform, sdk: openai.OpenAI, name: str
) -> None:
    row = loaded(platform, name)
    assert row["definition"]["backend"] == name
    assert row["vram_estimate_source"] == "observed_load_delta"
    assert row["vram_estimate_mib"] > 0
    assert platform.operation(row["operation_id"])["result"]["context_tokens"] >= 1024

    with sdk.responses.stream(model=name, input="Count to one hundred.", temperature=0) as stream:
        texts = [event.delta for event in stream if event.type == "response.output_text.delta"]
        final = stream.get_final_response()
    assert "".join(texts) == final.output_text == ", ".join(map(str, range(1, 101))) + "."
    assert final.usage is not None
    assert final.usage.input_tokens > 0
    assert final.usage.output_tokens >= len(texts)

    def ask(country: str) -> str | None:
        messages = [{"role": "user", "content": f"What is the capital of {country}?"}]
        answer = sdk.chat.completions.create(model=name, messages=messages, temperature=0)
        return answer.choices[0].message.content

    countries = {"Norway": "Oslo", "Sweden": "Stockholm", "Italy": "Rome", "France": "Paris"}
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(ask, [*countries] * 2))
    assert answers == [f"The capital of {c} is {t}." for c, t in countries.items()] * 2

    os.kill(platform.engine_pid(name), signal.SIGKILL)
    assert "killed by SIGKILL" in failure(platform, name)
    assert platform.wait_state(name, "loaded", LOAD_S)["crashes"] == 1, "no operator loads it"
    assert ask("Norway") == "The capital of Norway is Oslo."

    frozen = core_of(platform.engine_pid(name))
    freeze(frozen)
    assert ask("Norway") == "The capital of Norway is Oslo.", "it waits for the restart"
    assert has_ended(frozen, scaled(10))
    assert platform.wait_state(name, "loaded")["crashes"] == 2
    assert ask("Norway") == "The capital of Norway is Oslo."

    pid = platform.engine_pid(name)
    platform.run_operation("unload", name)
    assert platform.model(name)["runtime_state"] == "unloaded"
    with suppress(ProcessLookupError):
        os.killpg(pid, 0)
        pytest.fail("a process of the engine still runs")


@pytest.mark.rule("runner/flush")
@pytest.mark.parametrize("name", ["llama_cpp", "llama_server", "vllm", "vllm_serve"])
def test_a_flushed_tenant_computes_its_prefix_anew_and_the_hit_of_another_stays(
    platform: Platform, name: str
) -> None:
    loaded(platform, name)
    for tenant in TENANTS:
        reused(platform, tenant, name)
        assert reused(platform, tenant, name) > 0
    result = flush(platform, scope="tenant", tenant="a")["result"]
    if name == "llama_cpp":
        assert (result["entries_removed"], result["reason"]) == (1, None)
    else:
        assert result["reason"]
    assert reused(platform, "b", name) > 0
    assert reused(platform, "a", name) == 0
    assert reused(platform, "a", name) > 0
    flush(platform, scope="model", model=name)
    assert [reused(platform, tenant, name) for tenant in TENANTS] == [0, 0]
    platform.run_operation("unload", name)


def test_a_translator_translates_both_ways(platform: Platform) -> None:
    loaded(platform, "translator")
    languages = {"source_lang_code": "en", "target_lang_code": "de"}
    status, answer = platform.respond("translator", "Good morning.", **languages)
    assert status == 200, answer
    assert answer["output"][0]["content"][0]["text"] == "Guten Morgen."
    status, answer = platform.respond(
        "translator", "Guten Morgen.", source_lang_code="de", target_lang_code="en"
    )
    assert answer["output"][0]["content"][0]["text"] == "Good morning."
    assert answer["usage"]["input_tokens"] > 0
    platform.run_operation("unload", "translator")


def test_an_embedder_makes_vectors_and_refuses_all_else(platform: Platform, sdk: openai.OpenAI) -> None:
    loaded(platform, "embedder")
    texts = [f"text {number}" for number in range(40)]
    made = sdk.embeddings.create(model="embedder", input=texts, encoding_format="float")
    again = sdk.embeddings.create(model="embedder", input=texts[7], encoding_format="float")
    assert [one.index for one in made.data] == list(range(40))
    assert made.usage.prompt_tokens > again.usage.prompt_tokens > 0
    assert made.data[7].embedding == pytest.approx(again.data[0].embedding, abs=1e-3)
    for refused in ({"input": ["word " * 2000]}, {"input": [[2**31 - 1]]}):
        with pytest.raises(openai.BadRequestError):
            sdk.embeddings.create(model="embedder", encoding_format="float", **refused)
    with pytest.raises(openai.BadRequestError) as caught:
        sdk.responses.create(model="embedder", input="Hi")
    assert caught.value.code == "generation_unsupported"
    platform.run_operation("unload", "embedder")
