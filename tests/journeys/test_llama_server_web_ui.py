"""The requests of llama-server's web UI, to the wheel's llama-server and to Stoker over both engines.

The bodies are those of `ChatService` (llama.cpp, tools/ui/src/lib/services/chat.service.ts): a chat, a reload
amid its answer, a stop, the same question again, the end of a reasoning, and the cache that it warms.
"""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPResponse
from itertools import groupby
from typing import Any, NamedTuple

import pytest

from config.load import load_settings
from config.settings import ROOT
from tests.support.platform import Platform, running_platform
from tests.support.received_events import chunks_in
from tests.support.resumed_streams import answering, without_keep_alives
from tests.support.waiting import wait_until
from tests.support.wheel_server import wheel_server

pytestmark = [pytest.mark.engines, pytest.mark.journey, pytest.mark.timeout(300)]

MODEL = ROOT / "models" / "stoker-demo.gguf"
CONTEXT = 4096
COUNT = "Count to one hundred."
COUNTED = ", ".join(map(str, range(1, 101))) + "."
THINK = "Think: what is 3+4?"
END_OF_THINKING, END_OF_TURN = 1017, 1015
"""Tokens of the demo model."""

ENDLESS = {"logit_bias": {str(END_OF_THINKING): -100, str(END_OF_TURN): -100}, "max_tokens": 3500}
ONLY_THERE, ONLY_HERE = {"system_fingerprint"}, {"measurements"}
"""Members of chunks that one of both has; a choice has `logprobs` here also where nothing asks for them."""


class Server(NamedTuple):
    """A server that the web UI talks to; the wheel's has one model, which needs no name."""

    host: str
    key: str
    model: str | None

    @property
    def is_stoker(self) -> bool:
        return self.model is not None

    def identity(self, conversation: str) -> str:
        """The web UI's id of a stream."""
        return conversation if self.model is None else f"{conversation}::{self.model}"

    @contextmanager
    def call(self, method: str, path: str, body: object = None, **headers: str) -> Iterator[HTTPResponse]:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        authorization = {"Authorization": f"Bearer {self.key}"}
        with answering(self.host, method, path, body, {**authorization, **named}) as answer:
            yield answer

    def body(self, text: str, *, stream: bool = True, **more: Any) -> dict[str, Any]:
        """What `ChatService.sendMessage` sends."""
        named = {} if self.model is None else {"model": self.model}
        progress = {"return_progress": True} if stream else {}
        return {
            "messages": [{"role": "user", "content": text}],
            "stream": stream,
            **progress,
            **named,
            "reasoning_format": "auto",
            "chat_template_kwargs": {"enable_thinking": True},
            "reasoning_control": True,
            "timings_per_token": True,
            "temperature": 0,
            "max_tokens": -1,
            **more,
        }

    @contextmanager
    def chat(self, body: dict[str, Any], conversation: str | None = None) -> Iterator[HTTPResponse]:
        headers = {} if conversation is None else {"X_Conversation_Id": self.identity(conversation)}
        with self.call("POST", "/v1/chat/completions", body, **headers) as answer:
            assert answer.status == 200, answer.read()
            yield answer

    def chunks(self, text: str, conversation: str | None = None, **more: Any) -> list[dict[str, Any]]:
        with self.chat(self.body(text, **more), conversation) as answer:
            return chunks_in(answer.read())

    def look_up(self, conversation: str) -> list[dict[str, Any]]:
        body = {"conversation_ids": [conversation]}
        with self.call("POST", "/v1/streams/lookup", body) as answer:
            assert answer.status == 200
            found: list[dict[str, Any]] = json.loads(answer.read())
            return found

    def stream(self, conversation: str, start: int) -> tuple[int, bytes]:
        path = f"/v1/stream?conv_id={self.identity(conversation)}&from={start}"
        with self.call("GET", path) as answer:
            return answer.status, answer.read()


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("wheel")
    with wheel_server(load_settings().runtimes_dir, MODEL, folder, n_ctx=CONTEXT, cache_ram_mib=0) as url:
        yield Server(url.removeprefix("http://"), "", None)


@pytest.fixture(scope="module")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    common = {
        "model_path": str(MODEL),
        "prompt_format": "qwen3_template",
        "target_inflight": 1,
        "enabled": True,
    }
    models = {
        "llama_server": {"llama_server_n_ctx": CONTEXT, "llama_server_threads": 1},
        # a request cannot switch the thinking of this format on
        "llama_cpp": {
            "gguf_n_ctx": CONTEXT,
            "gguf_threads": 1,
            "gguf_chat_template_kwargs": {"enable_thinking": True},
        },
    }
    defined = {name: {"backend": name, **common, **options} for name, options in models.items()}
    local = {
        "models": {**defined, "stoker-demo": {"enabled": False}},
        "tenants": {"default": {"may_load": True}},
    }
    environment = {"CUDA_VISIBLE_DEVICES": "", "STOKER_RUNTIMES_DIR": str(load_settings().runtimes_dir)}
    folder = tmp_path_factory.mktemp("up")
    with running_platform(folder, local, "--port", "0", "--no-flower", environment=environment) as platform:
        for name in models:
            platform.wait_state(name, "loaded", 150)
        yield platform


@pytest.fixture(params=["llama_server", "llama_cpp"])
def stoker(platform: Platform, request: pytest.FixtureRequest) -> Server:
    return Server(platform.url.removeprefix("http://"), platform.keys["api_key"], request.param)


@pytest.fixture
def conversation() -> str:
    return str(uuid.uuid4())


def content(chunks: list[dict[str, Any]], name: str = "content") -> str:
    deltas = [choice["delta"] for chunk in chunks for choice in chunk["choices"]]
    return "".join(delta.get(name) or "" for delta in deltas)


def form(chunk: dict[str, Any]) -> tuple[Any, ...]:
    """What a chunk has, without its values, and without what only one of the servers has."""
    members = set(chunk) - ONLY_THERE - ONLY_HERE
    if "prompt_progress" not in chunk and not any(choice["finish_reason"] for choice in chunk["choices"]):
        members -= {"timings"}  # llama-server has them in each chunk of the answer
    choices = [
        (sorted(set(choice) - {"logprobs"}), sorted(choice["delta"]), choice["finish_reason"])
        for choice in chunk["choices"]
    ]
    inner = [sorted(chunk[name]) for name in ("timings", "prompt_progress") if name in members]
    return tuple(sorted(members)), choices, inner


def sequence(chunks: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    """The forms of the chunks, in their order; of neighbours that are alike, one."""
    return [one for one, _ in groupby(map(form, chunks))]


@pytest.mark.rule("llama-server/chat-chunks", "llama-server/chat-progress")
@pytest.mark.parametrize(
    "more", [{}, {"stream_options": {"include_usage": True}}, {"reasoning_format": "none"}]
)
def test_the_chunks_of_an_answer_have_the_same_order_and_members(
    wheel: Server, stoker: Server, more: dict[str, Any]
) -> None:
    there, here = (one.chunks(THINK, **more) for one in (wheel, stoker))
    if "stream_options" in more:  # without a value, as OpenAI has it
        here = [{name: value for name, value in chunk.items() if value is not None} for chunk in here]
    assert sequence(here) == sequence(there)
    for name in ("content", "reasoning_content"):
        texts = [re.sub(r"\s+", "", content(chunks, name)) for chunks in (here, there)]
        assert texts[0] == texts[1]
    last = here[-1]["timings"]
    assert {type(value) for value in last.values()} == {int, float}
    assert last["predicted_n"] == there[-1]["timings"]["predicted_n"]
    first = next(chunk["prompt_progress"] for chunk in here if "prompt_progress" in chunk)
    assert first["total"] == there[0]["prompt_progress"]["total"]


@pytest.mark.rule("llama-server/chat-begun")
def test_a_begun_answer_is_continued_alike(wheel: Server, stoker: Server) -> None:
    begun = [{"role": "user", "content": "What is 3+4?"}, {"role": "assistant", "content": "3+4"}]
    more = {"messages": begun, "continue_final_message": True, "add_generation_prompt": False}
    there, here = (server.chunks("", **more) for server in (wheel, stoker))
    assert (content(here), content(there)) == ("=7", "=7")
    assert sequence(here) == sequence(there)


@pytest.mark.rule("llama-server/chat-timings")
def test_an_answer_in_one_piece_has_the_same_members(wheel: Server, stoker: Server) -> None:
    """The web UI warms the cache by a request without an answer that it reads."""
    answers = []
    for server in (wheel, stoker):
        messages = [{"role": "user", "content": THINK}, {"role": "assistant", "content": "3+4=7"}]
        named = {} if server.model is None else {"model": server.model}
        with server.chat({"messages": messages, "stream": False, "n_predict": 0, **named}) as answer:
            answers.append(json.loads(answer.read()))
    there, here = answers
    assert set(here) == set(there) - ONLY_THERE
    assert set(here["timings"]) == set(there["timings"])
    assert set(here["choices"][0]) - {"logprobs"} == set(there["choices"][0])
    assert here["usage"]["completion_tokens"] == there["usage"]["completion_tokens"] == 1


@pytest.mark.rule("llama-server/web-ui-reload")
def test_an_answer_is_resumed_after_a_reload_byte_for_byte(
    wheel: Server, stoker: Server, conversation: str
) -> None:
    states = []
    for server in (wheel, stoker):
        with server.chat(server.body(COUNT), conversation) as answer:
            begun = answer.read1(900)
        begun = begun[: begun.rfind(b"\n") + 1]
        (state,) = server.look_up(conversation)
        states.append(state)
        assert state["conversation_id"] == server.identity(conversation)
        before = without_keep_alives(begun, lines=False)
        status, rest = server.stream(conversation, len(before))
        assert status == 200
        whole = before + without_keep_alives(rest, lines=False, continues=before)
        assert whole.endswith(b"data: [DONE]\n\n")
        assert content(chunks_in(whole)) == COUNTED
        status, again = server.stream(conversation, 0)
        assert (status, without_keep_alives(again, lines=False)) == (200, whole)
    assert set(states[0]) == set(states[1])


@pytest.mark.rule("llama-server/web-ui-stop")
def test_a_stopped_answer_is_gone_and_the_question_can_be_asked_again(
    wheel: Server, stoker: Server, conversation: str
) -> None:
    for server in (wheel, stoker):
        with server.chat(server.body(COUNT, **ENDLESS), conversation) as answer:
            assert answer.read1(100)
            for _ in range(2):
                path = f"/v1/stream?conv_id={server.identity(conversation)}"
                with server.call("DELETE", path) as stopped:
                    assert (stopped.status, stopped.read()) == (204, b"")
            cut_off = answer.read()
        assert len(chunks_in(cut_off)) < ENDLESS["max_tokens"]  # type: ignore[operator]
        assert server.stream(conversation, 0)[0] == 404
        assert server.look_up(conversation) == []
        assert content(server.chunks(COUNT, conversation)) == COUNTED
        (state,) = server.look_up(conversation)
        assert state["is_done"]


@pytest.mark.rule("llama-server/chat-control")
def test_a_reasoning_is_ended_and_the_answer_follows(wheel: Server, stoker: Server) -> None:
    for server in (wheel, stoker):
        with server.chat(server.body(THINK, **ENDLESS)) as answer:
            begun = b""
            while b"reasoning_content" not in begun:
                piece = answer.read1(65536)
                assert piece, begun[-1000:]
                begun += piece
            id = chunks_in(begun[: begun.rfind(b"\n")])[0]["id"]
            body = {"id": id, "action": "reasoning_end", "model": server.model or ""}
            for _ in range(2):
                with server.call("POST", "/v1/chat/completions/control", body) as ended:
                    assert (ended.status, json.loads(ended.read())) == (200, {"success": True})
            chunks = chunks_in(begun + answer.read())
        assert content(chunks, "reasoning_content")
        assert content(chunks), "the answer followed"
        for wrong in ({**body, "id": "unknown"}, body):
            with server.call("POST", "/v1/chat/completions/control", wrong) as ended:
                message = "no active completion for this id"
                assert json.loads(ended.read()) == {"success": False, "message": message}


@pytest.mark.rule("llama-server/chat-control")
@pytest.mark.parametrize(
    "body",
    [{}, {"action": "reasoning_end"}, {"id": "x", "action": "y"}, {"id": "", "action": "reasoning_end"}],
)
def test_a_wrong_control_request_has_the_same_status_and_form(
    wheel: Server, stoker: Server, body: dict[str, Any]
) -> None:
    answers = []
    for server in (wheel, stoker):
        with server.call("POST", "/v1/chat/completions/control", body) as answer:
            error = json.loads(answer.read())["error"]
            answers.append((answer.status, error["code"], error["type"], sorted(error)))
    assert answers[0] == answers[1]


@pytest.mark.rule("llama-server/input-tokens")
def test_the_tokens_of_a_conversation_are_counted_alike(wheel: Server, stoker: Server) -> None:
    counts = []
    for server in (wheel, stoker):
        body = server.body(THINK, stream=False)
        with server.call("POST", "/v1/chat/completions/input_tokens", body) as answer:
            assert answer.status == 200
            counts.append(json.loads(answer.read()))
    assert counts[0] == counts[1]


@pytest.mark.rule("llama-server/router-load", "llama-server/router-status", "llama-server/router-events")
def test_models_are_switched_as_with_the_router(stoker: Server) -> None:
    """What its `ModelsService` sends: the role, the list, an unload, a load with its events, a chat."""
    body = {"model": stoker.model}

    def read(path: str) -> tuple[int, Any]:
        with stoker.call("GET", path) as answer:
            return answer.status, json.loads(answer.read())

    def post(path: str) -> Any:
        with stoker.call("POST", path, body) as answer:
            return json.loads(answer.read())

    def status() -> dict[str, Any]:
        listed = read("/models")[1]["data"]
        return next(one["status"] for one in listed if one["id"] == stoker.model)

    assert read("/props")[1]["role"] == "router"
    assert status()["value"] == "loaded"
    assert status()["args"][0] == "llama-server"
    with stoker.call("GET", "/models/sse") as events:
        events.readline()
        assert post("/models/unload") == {"success": True}
        wait_until(lambda: status()["value"] == "unloaded", 60)
        assert read(f"/props?model={stoker.model}&autoload=false")[0] == 409
        assert post("/models/load") == {"success": True}
        wait_until(lambda: status()["value"] == "loaded", 90)
        received = [json.loads(line.removeprefix(b"data: ")) for line in until_loaded(events)]
    statuses = [one["data"]["status"] for one in received if one["model"] == stoker.model]
    assert list(dict.fromkeys(statuses)) == ["unloaded", "loading", "loaded"]
    assert stoker.chunks("Hi", max_tokens=8)
    assert read(f"/props?model={stoker.model}")[1]["model_alias"] == stoker.model


def until_loaded(events: HTTPResponse) -> Iterator[bytes]:
    """The events up to the one of the loaded model."""
    while line := events.readline():
        if line.startswith(b"data: "):
            yield line
            if b'"loaded"' in line:
                return
