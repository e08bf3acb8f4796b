"""The demo model on the whole platform, used with the official SDK in strict mode."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Literal

import anthropic
import openai
import pytest
from pydantic import BaseModel, Field

from api.inference.dialects.sealed_summaries import HEADING
from generation.generation import Generation, ImagePart, TextPart
from tests.journeys.shared_platform.conftest import WEBHOOK_SECRET
from tests.journeys.test_deaths import Stream
from tests.support.pdf_files import bomb, data_url_of, pdf
from tests.support.pictures import data_url, png
from tests.support.platform import Platform
from tests.support.waiting import scaled, wait_until
from tests.support.webhook_receiver import ReceiverThread

pytestmark = pytest.mark.journey
DEMO = "stoker-demo"


def test_the_demo_model_answers_a_question_about_stoker(sdk: openai.OpenAI) -> None:
    response = sdk.responses.create(model=DEMO, input="What is Stoker?", temperature=0)
    assert response.status == "completed"
    assert "language models" in response.output_text
    assert response.usage
    assert response.usage.output_tokens > 3


def test_a_stream_has_the_same_text_as_the_whole_response(sdk: openai.OpenAI) -> None:
    whole = sdk.responses.create(model=DEMO, input="Tell me a story.", temperature=0)
    events = list(sdk.responses.create(model=DEMO, input="Tell me a story.", temperature=0, stream=True))
    assert [event.sequence_number for event in events] == list(range(len(events)))
    assert "".join(e.delta for e in events if e.type == "response.output_text.delta") == whole.output_text
    assert events[-1].type == "response.completed"


def test_a_continued_response_has_the_prompt_and_the_answer_of_the_whole_conversation(
    sdk: openai.OpenAI,
) -> None:
    ask: dict[str, Any] = {"model": DEMO, "temperature": 0, "instructions": "Be brief."}
    first = sdk.responses.create(input="Who are you?", **ask)
    continued = sdk.responses.create(input="What is Stoker?", previous_response_id=first.id, **ask)
    conversation: Any = [
        {"role": "user", "content": "Who are you?"},
        {"role": "assistant", "content": first.output_text},
        {"role": "user", "content": "What is Stoker?"},
    ]
    whole = sdk.responses.create(input=conversation, **ask)
    assert continued.output_text == whole.output_text
    assert first.usage
    assert continued.usage
    assert whole.usage
    assert continued.usage.input_tokens == whole.usage.input_tokens > first.usage.input_tokens


def test_a_chain_of_responses_goes_on_beyond_the_context_when_it_may_be_truncated(
    sdk: openai.OpenAI,
) -> None:
    context = sdk.models.retrieve(DEMO).model_extra["context_length"]  # type: ignore[index]
    ask: dict[str, Any] = {"model": DEMO, "max_output_tokens": 8, "input": "word " * (context // 4)}
    used, previous = [], None
    for _ in range(6):
        response = sdk.responses.create(previous_response_id=previous, truncation="auto", **ask)
        assert response.usage
        used.append(response.usage.input_tokens)
        previous = response.id
    assert used[0] < used[1]
    assert max(used) <= context - 8
    with pytest.raises(openai.BadRequestError) as caught:
        sdk.responses.create(previous_response_id=previous, **ask)
    assert caught.value.code == "context_length_exceeded"


def test_response_of_a_conversation_has_the_prompt_of_all_its_items(sdk: openai.OpenAI) -> None:
    conversation = sdk.conversations.create()
    ask: dict[str, Any] = {"model": DEMO, "temperature": 0, "conversation": conversation.id}
    first = sdk.responses.create(input="Who are you?", **ask)
    with sdk.responses.stream(input="What is Stoker?", **ask) as stream:
        second = stream.get_final_response()
    whole = sdk.responses.create(
        input=[
            {"role": "user", "content": "Who are you?"},
            {"role": "assistant", "content": first.output_text},
            {"role": "user", "content": "What is Stoker?"},
        ],
        model=DEMO,
        temperature=0,
    )
    assert second.output_text == whole.output_text
    assert second.usage
    assert whole.usage
    assert second.usage.input_tokens == whole.usage.input_tokens
    assert len(list(sdk.conversations.items.list(conversation.id))) == 4


def test_a_compacted_conversation_is_continued(shared: Platform, sdk: openai.OpenAI) -> None:
    conversation: Any = [
        {"role": "user", "content": "Who are you?"},
        {"role": "assistant", "content": "A secret."},
        {"role": "user", "content": "/stub tokens=3"},
        {"role": "assistant", "content": "tok"},
    ]
    with openai.OpenAI(base_url=f"{shared.url}/v1", api_key=sdk.api_key, max_retries=0) as client:
        compacted = client.responses.compact(model="stub", input=conversation)
        (*kept, item) = [one.to_dict(warnings=False) for one in compacted.output]
        assert [one["role"] for one in kept] == ["user", "user"]
        assert compacted.usage.input_tokens > 40  # of the instruction
        question = {"role": "user", "content": "/stub echo_json"}
        items: Any = [*kept, item, question]
        answer = client.responses.create(model="stub", input=items)
        real = client.responses.compact(model=DEMO, input=conversation)
    assert real.output[-1].type == "compaction"
    messages = Generation.from_json(answer.output_text).messages
    assert [(message.role, message.text) for message in messages] == [
        ("user", "Who are you?\n\n/stub tokens=3"),
        ("assistant", f"{HEADING}\n\n" + " ".join(f"tok{number}" for number in range(16))),
        ("user", "/stub echo_json"),
    ]


def test_lora_answers_as_itself_and_shares_no_cached_prefix_with_the_model(sdk: openai.OpenAI) -> None:
    def answer(**extra: str) -> tuple[str, bool]:
        response = sdk.responses.create(model="stub", input="A question of sailors.", extra_body=extra)
        assert response.usage
        return response.output_text.partition(" ")[0], response.usage.input_tokens_details.cached_tokens > 0

    found = [answer(**extra) for extra in ({}, {"lora": "pirate"}, {"lora": "pirate"}, {})]
    assert found == [("tok0", False), ("pirate0", False), ("pirate0", True), ("tok0", True)]
    assert sdk.models.retrieve("stub").model_extra["lora"] == ["pirate"]  # type: ignore[index]
    with pytest.raises(openai.BadRequestError) as caught:
        answer(lora="poet")
    assert (caught.value.code, caught.value.param) == ("unknown_lora", "lora")


def test_the_sdk_of_anthropic_gets_the_same_text_whole_and_streamed(
    shared: Platform, sdk: openai.OpenAI
) -> None:
    ask: dict[str, Any] = {
        "model": DEMO,
        "max_tokens": 60,
        "temperature": 0,
        "messages": [{"role": "user", "content": "What is Stoker?"}],
    }
    expected = sdk.chat.completions.create(**ask).choices[0].message.content
    with anthropic.Anthropic(base_url=shared.url, api_key=sdk.api_key, max_retries=0) as claude:
        extra = {"temperature": ask.pop("temperature")}  # Anthropic's API takes it no more
        whole = claude.messages.create(**ask, extra_body=extra)
        with claude.messages.stream(**ask, extra_body=extra) as stream:
            assembled = stream.get_final_message()
    for message in (whole, assembled):
        assert [block.text for block in message.content if block.type == "text"] == [expected]
        assert message.usage.output_tokens > 3


def test_the_stream_helper_of_the_sdk_accepts_the_stream(sdk: openai.OpenAI) -> None:
    with sdk.responses.stream(model=DEMO, input="What is the capital of Norway?", temperature=0) as stream:
        text = "".join(event.delta for event in stream if event.type == "response.output_text.delta")
        final = stream.get_final_response()
    assert final.output_text == text
    assert "Oslo" in text


def test_a_stored_response_is_retrieved_replayed_and_resumed(sdk: openai.OpenAI) -> None:
    events = list(sdk.responses.create(model=DEMO, input="Count to twenty.", temperature=0, stream=True))
    id = events[0].response.id  # type: ignore[union-attr]
    assert sdk.responses.retrieve(id).output_text == events[-1].response.output_text  # type: ignore[union-attr]
    replayed = list(sdk.responses.retrieve(id, stream=True))
    assert [e.to_dict() for e in replayed] == [e.to_dict() for e in events]
    resumed = list(sdk.responses.retrieve(id, stream=True, starting_after=5))
    assert [e.to_dict() for e in resumed] == [e.to_dict() for e in events[6:]]
    with sdk.responses.stream(response_id=id, starting_after=5) as stream:
        assert stream.get_final_response().output_text == events[-1].response.output_text  # type: ignore[union-attr]
    sdk.responses.delete(id)
    with pytest.raises(openai.NotFoundError):
        sdk.responses.retrieve(id)


def test_an_image_reaches_the_engine_unchanged(sdk: openai.OpenAI) -> None:
    url = data_url(png(400, 300, noisy=True))
    assert len(url) > 300_000
    content = [
        {"type": "input_text", "text": "/stub echo_json what is "},
        {"type": "input_image", "image_url": url, "detail": "auto"},
        {"type": "input_text", "text": "this?"},
    ]
    response = sdk.responses.create(model="stub", input=[{"role": "user", "content": content}])  # type: ignore[list-item, misc]
    (message,) = Generation.from_json(response.output_text).messages
    assert message.content == (
        TextPart("/stub echo_json what is "),
        ImagePart(url, "auto"),
        TextPart("this?"),
    )
    with pytest.raises(openai.BadRequestError) as caught:
        sdk.responses.create(model=DEMO, input=[{"role": "user", "content": content}])  # type: ignore[list-item, misc]
    assert caught.value.code == "image_unsupported"


def test_the_text_of_a_pdf_file_reaches_the_model(shared: Platform, sdk: openai.OpenAI) -> None:
    question = "What is Stoker?"
    expected = sdk.responses.create(model=DEMO, input=question, temperature=0)
    assert expected.usage
    part: Any = {"type": "input_file", "file_data": data_url_of(pdf(question))}
    answer = sdk.responses.create(model=DEMO, input=[{"role": "user", "content": [part]}], temperature=0)
    assert answer.usage
    assert answer.output_text == expected.output_text
    assert answer.usage.input_tokens == expected.usage.input_tokens
    part["file_data"] = data_url_of(bomb(200))
    with pytest.raises(openai.BadRequestError, match="decompressed"):
        sdk.responses.create(model=DEMO, input=[{"role": "user", "content": [part]}])

    file = sdk.files.create(file=("question.pdf", pdf(question)), purpose="user_data")
    source = {"type": "file", "file_id": file.id}
    messages: Any = [{"role": "user", "content": [{"type": "document", "source": source}]}]
    with anthropic.Anthropic(base_url=shared.url, api_key=sdk.api_key, max_retries=0) as claude:
        counted = claude.messages.count_tokens(model=DEMO, messages=messages)
    assert counted.input_tokens == expected.usage.input_tokens
    sdk.files.delete(file.id)


def test_a_cache_key_is_a_cache_of_its_own(sdk: openai.OpenAI) -> None:
    prompt = f"Tell me about {random.getrandbits(64):x}, please. " * 4

    def cached(key: str | None) -> int:
        extra: Any = {} if key is None else {"prompt_cache_key": key}
        response = sdk.responses.create(model=DEMO, input=prompt, max_output_tokens=2, **extra)
        assert response.usage
        return response.usage.input_tokens_details.cached_tokens

    cached("a")
    in_all = cached("a")
    assert in_all > cached("b")
    assert in_all > cached(None)


def test_the_model_thinks_when_thinking_is_enabled(sdk: openai.OpenAI) -> None:
    response = sdk.responses.create(
        model=DEMO, input="Think: what is 3+4?", temperature=0, extra_body={"thinking": "enabled"}
    )
    assert [item.type for item in response.output] == ["reasoning", "message"]
    assert "7" in response.output_text


class City(BaseModel):
    """The model of an answer."""

    name: str = Field(max_length=20)
    kind: Literal["capital", "village"]
    share: float = Field(ge=0, le=1)
    twin: City | None


def test_the_sdks_parse_an_answer_into_a_model(shared: Platform, sdk: openai.OpenAI) -> None:
    question = "What is the capital of Norway?"
    whole = sdk.responses.parse(model=DEMO, input=question, text_format=City, temperature=0)
    assert isinstance(whole.output_parsed, City)
    assert whole.text is not None
    assert whole.text.format is not None
    assert whole.text.format.type == "json_schema"
    messages: Any = [{"role": "user", "content": question}]
    chat = sdk.chat.completions.parse(model=DEMO, messages=messages, response_format=City, temperature=0)
    assert chat.choices[0].message.parsed == whole.output_parsed
    config = {"format": {"type": "json_schema", "schema": City.model_json_schema()}}
    with anthropic.Anthropic(base_url=shared.url, api_key=sdk.api_key, max_retries=0) as claude:
        extra = {"temperature": 0, "output_config": config}
        message = claude.messages.create(model=DEMO, max_tokens=200, messages=messages, extra_body=extra)
    [text] = [block.text for block in message.content if block.type == "text"]
    assert City.model_validate_json(text) == whole.output_parsed


def test_the_sdk_parses_the_arguments_of_a_strict_tool(sdk: openai.OpenAI) -> None:
    tool = openai.pydantic_function_tool(City, name="get_weather", description="The weather in a city.")
    messages: Any = [{"role": "user", "content": "What is the weather in Oslo?"}]
    answer = sdk.chat.completions.parse(
        model=DEMO, messages=messages, tools=[tool], tool_choice="required", temperature=2, seed=1
    )
    [call] = answer.choices[0].message.tool_calls or []
    assert isinstance(call.function.parsed_arguments, City)


def test_the_model_calls_a_tool_and_reads_its_result(sdk: openai.OpenAI) -> None:
    tool = {
        "type": "function",
        "name": "get_weather",
        "description": "Weather of a city",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
        "strict": None,
    }
    question = {"role": "user", "content": "What is the weather in Oslo?"}
    first = sdk.responses.create(model=DEMO, input=[question], tools=[tool], temperature=0)  # type: ignore[list-item]
    call = first.output[0]
    assert call.type == "function_call"
    assert (call.name, call.arguments.replace(" ", "")) == ("get_weather", '{"city":"Oslo"}')
    second = sdk.responses.create(
        model=DEMO,
        tools=[tool],  # type: ignore[list-item]
        temperature=0,
        input=[
            question,
            call.to_dict(),
            {"type": "function_call_output", "call_id": call.call_id, "output": "rainy"},
        ],  # type: ignore[list-item]
    )
    assert second.output_text == "It is rainy in Oslo."


def test_a_repeated_prompt_is_partly_cached(sdk: openai.OpenAI) -> None:
    for _ in range(2):
        response = sdk.responses.create(model="stub", input="the same words as before")
    assert response.usage
    assert response.usage.input_tokens_details.cached_tokens > 0


@pytest.fixture
def other_tenant(shared: Platform) -> Iterator[openai.OpenAI]:
    with shared.sdk() as client:
        yield client.with_options(api_key=shared.keys["admin_key"])


@pytest.mark.parametrize("model", ["stub", DEMO])
def test_a_prompt_is_cached_for_its_own_tenant_and_tag_only(
    sdk: openai.OpenAI, other_tenant: openai.OpenAI, model: str
) -> None:
    question = f"Which words begin a prompt of {model}? " + "These and more of them. " * 50

    def reused(client: openai.OpenAI, **headers: str) -> int:
        named = {f"X-Cache-{name.capitalize()}": value for name, value in headers.items()}
        answer = client.responses.with_raw_response.create(
            model=model, input=question, max_output_tokens=1, extra_headers=named
        )
        tokens = int(answer.headers["x-cache-tokens-reused"])
        assert answer.headers["x-cache-hit"] == ("true" if tokens else "false")
        return tokens

    assert [reused(sdk) > 100, reused(sdk) > 100] == [False, True]
    assert [reused(other_tenant), reused(sdk, tag="a"), reused(sdk, mode="none")] == [0, 0, 0]
    assert [reused(other_tenant) > 100, reused(sdk, tag="a") > 100] == [True, True]


def test_a_prompt_cannot_be_recovered_from_the_cached_tokens_of_another_tenant(
    sdk: openai.OpenAI, other_tenant: openai.OpenAI
) -> None:
    """Without namespaces ten guesses for each digit are enough."""

    def cached(client: openai.OpenAI, digits: list[int]) -> int:
        prompt = " ".join(["The", "code", "of", "the", "safe", "is", *map(str, digits)])
        usage = client.responses.create(model="stub", input=prompt, max_output_tokens=1).usage
        assert usage is not None
        return usage.input_tokens_details.cached_tokens

    def recovered(client: openai.OpenAI, count: int) -> list[int]:
        found: list[int] = []
        for _ in range(count):
            found.append(max(range(10), key=lambda digit: cached(client, [*found, digit])))
        return found

    code = random.choices(range(10), k=6)
    cached(sdk, code)
    assert recovered(sdk, len(code)) == code  # the own prompt
    assert recovered(other_tenant, len(code)) != code


def test_an_answer_that_reaches_its_limit_is_incomplete(sdk: openai.OpenAI) -> None:
    response = sdk.responses.create(model=DEMO, input="Tell me a story.", max_output_tokens=5, temperature=0)
    assert response.status == "incomplete"
    assert response.incomplete_details
    assert response.incomplete_details.reason == "max_output_tokens"


@pytest.mark.rule("runner/chat-completions")
def test_chat_completions_give_the_same_answer_as_responses(sdk: openai.OpenAI) -> None:
    question = "What is the capital of Norway?"
    asked: dict[str, Any] = {
        "model": DEMO,
        "messages": [{"role": "user", "content": question}],
        "temperature": 0,
        "extra_headers": {"X-Cache-Mode": "none"},  # the usage counts cached tokens
    }
    whole = sdk.chat.completions.create(**asked)
    chunks = list(sdk.chat.completions.create(**asked, stream=True, stream_options={"include_usage": True}))
    streamed = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    assert chunks[-1].usage == whole.usage
    assert streamed == whole.choices[0].message.content
    assert streamed == sdk.responses.create(model=DEMO, input=question, temperature=0).output_text


def test_the_list_of_models_has_the_context_that_their_engines_report(sdk: openai.OpenAI) -> None:
    listed = {model.id: model.to_dict() for model in sdk.models.list()}
    assert (listed["stub"]["context_length"], listed["later"]["context_length"]) == (4096, None)
    assert sdk.models.retrieve(DEMO).to_dict()["max_model_len"] == 2048


def test_several_answers_are_those_of_separate_requests(sdk: openai.OpenAI) -> None:
    asked: dict[str, Any] = {
        "model": DEMO,
        "messages": [{"role": "user", "content": "What is the capital of Norway?"}],
        "temperature": 0,
    }
    alone = sdk.chat.completions.create(**asked)
    whole = sdk.chat.completions.create(**asked, n=3)
    chunks = list(sdk.chat.completions.create(**asked, n=3, stream=True))
    assert [choice.index for choice in whole.choices] == [0, 1, 2]
    assert {choice.message.content for choice in whole.choices} == {alone.choices[0].message.content}
    streamed = ["", "", ""]
    for chunk in chunks:
        streamed[chunk.choices[0].index] += chunk.choices[0].delta.content or ""
    assert set(streamed) == {alone.choices[0].message.content}
    assert whole.usage
    assert alone.usage
    assert whole.usage.prompt_tokens == alone.usage.prompt_tokens
    assert whole.usage.completion_tokens == 3 * alone.usage.completion_tokens


def test_a_client_that_disconnects_frees_the_slots_of_all_its_answers(shared: Platform) -> None:
    import http.client

    connection = http.client.HTTPConnection(shared.url.removeprefix("http://"), timeout=scaled(30))
    body = '{"model": "slow", "messages": [{"role": "user", "content": "go on"}], "n": 2, "stream": true}'
    headers = {"Authorization": f"Bearer {shared.keys['api_key']}", "Content-Type": "application/json"}
    connection.request("POST", "/v1/chat/completions", body, headers)
    assert connection.getresponse().status == 200
    shared.wait_for(lambda: shared.model("slow")["inflight_requests"] == 2, 5, "requests in flight")
    connection.close()
    shared.wait_for(lambda: shared.model("slow")["inflight_requests"] == 0, 5, "free slots")


def test_thirty_two_concurrent_clients_get_correct_answers(sdk: openai.OpenAI) -> None:
    capitals = {"Norway": "Oslo", "France": "Paris", "Japan": "Tokyo", "Peru": "Lima"}

    def ask(number: int) -> tuple[str, str]:
        country, capital = list(capitals.items())[number % 4]
        question = f"What is the capital of {country}?"
        if number % 2:
            return capital, sdk.responses.create(model=DEMO, input=question, temperature=0).output_text
        events = sdk.responses.create(model=DEMO, input=question, temperature=0, stream=True)
        return capital, "".join(e.delta for e in events if e.type == "response.output_text.delta")

    with ThreadPoolExecutor(32) as pool:
        for capital, answer in pool.map(ask, range(64)):
            assert answer.endswith(f"is {capital}.")


@pytest.mark.parametrize("streaming", [True, False])
def test_a_client_that_disconnects_frees_its_slot_within_a_second(shared: Platform, streaming: bool) -> None:
    import http.client

    connection = http.client.HTTPConnection(shared.url.removeprefix("http://"), timeout=scaled(30))
    body = f'{{"model": "slow", "input": "go on", "stream": {str(streaming).lower()}}}'
    headers = {"Authorization": f"Bearer {shared.keys['api_key']}", "Content-Type": "application/json"}
    connection.request("POST", "/v1/responses", body, headers)
    if streaming:
        assert connection.getresponse().status == 200
    shared.wait_for(lambda: shared.model("slow")["inflight_requests"] == 1, 5, "request in flight")
    assert connection.sock or streaming
    disconnected = time.monotonic()
    connection.close()
    shared.wait_for(lambda: shared.model("slow")["inflight_requests"] == 0, 5, "free slot")
    assert time.monotonic() - disconnected < scaled(1.0)


def test_a_response_cancelled_by_another_client_ends_its_stream(sdk: openai.OpenAI) -> None:
    stream = sdk.responses.create(model="slow", input="go on", stream=True)
    id = next(iter(stream)).response.id  # type: ignore[union-attr]
    cancelled = sdk.responses.cancel(id)
    assert cancelled.id == id
    events = list(stream)
    assert events[-1].response.status == "cancelled"  # type: ignore[union-attr]
    assert sdk.responses.cancel(id).status == "cancelled"


def test_a_background_response_outlives_its_client(sdk: openai.OpenAI) -> None:
    response = sdk.responses.create(model="stub", input="/stub tokens=5", background=True)
    assert response.status in ("queued", "in_progress", "completed")
    wait_until(lambda: sdk.responses.retrieve(response.id).status == "completed")
    assert sdk.responses.retrieve(response.id).output_text == "tok0 tok1 tok2 tok3 tok4"


@pytest.mark.rule("runner/queue-full", "runner/env/MAX_QUEUE_DEPTH")
def test_the_end_of_a_background_response_is_sent_as_a_webhook(
    sdk: openai.OpenAI, webhooks: ReceiverThread
) -> None:
    response = sdk.responses.create(model="stub", input="Hello", background=True)

    def events() -> list[Any]:
        unwrap = sdk.with_options(webhook_secret=WEBHOOK_SECRET).webhooks.unwrap
        found = [unwrap(body, headers) for headers, body in webhooks.received if response.id.encode() in body]
        return found

    wait_until(lambda: len(events()) == 1, 10)
    (event,) = events()
    assert (event.type, event.data.id) == ("response.completed", response.id)


def test_a_request_to_a_full_queue_is_refused_with_its_depth(shared: Platform) -> None:
    answers: list[tuple[int, dict[str, Any]]] = []
    lock = threading.Lock()

    def ask() -> None:
        answer = shared.call("POST", "/v1/responses", {"model": "slow", "input": "/stub tokens=2"})
        with lock:
            answers.append(answer)

    # they hold both slots until the queue is full, however slowly the others come
    holders = [Stream(shared, "/stub tokens=100000") for _ in range(2)]
    for holder in holders:
        assert holder.has_output.wait(scaled(10))
    threads = [threading.Thread(target=ask) for _ in range(110)]
    for thread in threads:
        thread.start()
    shared.wait_for(lambda: len(answers) == 110 - 64, 30, "refusals")
    for holder in holders:
        shared.call("POST", f"/v1/responses/{holder.events[0]['response']['id']}/cancel")
        holder.end(10)
    for thread in threads:
        thread.join()
    assert [status for status, _ in answers] == [503] * (110 - 64) + [200] * 64
    refused = [body["error"] for status, body in answers if status == 503]
    assert {error["code"] for error in refused} == {"queue_full"}
    assert {error["queueDepth"] for error in refused} == {64}


def test_a_completion_continues_the_text_of_the_template(sdk: openai.OpenAI) -> None:
    prompt = "<|im_start|>user\nWhat is the capital of Norway?<|im_end|>\n<|im_start|>assistant\n"
    whole = sdk.completions.create(model=DEMO, prompt=prompt, temperature=0, max_tokens=50)
    assert whole.choices[0].text == "The capital of Norway is Oslo."
    assert whole.choices[0].finish_reason == "stop"
    # the SDK's types know no chunk without a finish reason, as OpenAI sends them
    lenient = openai.OpenAI(api_key=sdk.api_key, base_url=sdk.base_url)
    chunks = lenient.completions.create(model=DEMO, prompt=prompt, temperature=0, max_tokens=50, stream=True)
    assert "".join(chunk.choices[0].text for chunk in chunks) == whole.choices[0].text
