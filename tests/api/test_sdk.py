"""OpenAI's own client in strict mode, over a real port."""

from __future__ import annotations

import threading

import anthropic
import openai
import pytest

from fleet.states import ModelState
from streams.events import End, ReasoningDelta, TextDelta, ToolCallDelta
from tests.api.conftest import KEY
from tests.support.api_fakes import HELLO, Fakes

TOOL = {"type": "function", "name": "f", "parameters": {"type": "object", "properties": {}}, "strict": False}


def test_a_response_is_returned_in_one_piece(sdk: openai.OpenAI) -> None:
    raw = sdk.responses.with_raw_response.create(model="demo", input="Hi", tools=[TOOL], metadata={"a": "b"})  # type: ignore[list-item]
    response = raw.parse()
    assert response.output_text == "Hello."
    assert response.usage is not None
    assert response.usage.input_tokens_details.cached_tokens == 3
    assert raw.request_id is not None
    assert raw.request_id.startswith("req_")


def test_a_streamed_response_has_increasing_sequence_numbers(sdk: openai.OpenAI) -> None:
    events = list(sdk.responses.create(model="demo", input="Hi", stream=True))
    assert [event.sequence_number for event in events] == list(range(len(events)))
    assert events[-1].type == "response.completed"


def test_the_stream_helper_assembles_the_whole_response(sdk: openai.OpenAI, fakes: Fakes) -> None:
    fakes.ledger.script = [
        ReasoningDelta("hm"),
        TextDelta("a"),
        TextDelta("b"),
        ToolCallDelta(0, '{"x"', "c1", "f"),
        ToolCallDelta(0, ": 1}"),
        End("completed", "tool_calls"),
    ]
    with sdk.responses.stream(model="demo", input="Hi", tools=[TOOL]) as stream:  # type: ignore[list-item]
        final = stream.get_final_response()
    assert final.output_text == "ab"
    assert [item.type for item in final.output] == ["reasoning", "message", "function_call"]
    assert final.output[2].arguments == '{"x": 1}'  # type: ignore[union-attr]


def test_the_client_ignores_keep_alives(sdk: openai.OpenAI, fakes: Fakes) -> None:
    ledger = fakes.ledger
    ledger.script = None
    stream = sdk.responses.create(model="demo", input="Hi", stream=True)
    threading.Timer(0.2, lambda: ledger.append(ledger.only().id, *HELLO)).start()
    assert [event.type for event in stream][-1] == "response.completed"


def test_a_stored_response_is_fetched_replayed_resumed_and_deleted(sdk: openai.OpenAI) -> None:
    events = list(sdk.responses.create(model="demo", input="Hi", stream=True))
    id = events[0].response.id  # type: ignore[union-attr]
    assert sdk.responses.retrieve(id).output_text == "Hello."
    assert list(sdk.responses.retrieve(id, stream=True)) == events
    assert list(sdk.responses.retrieve(id, stream=True, starting_after=4)) == events[5:]
    with sdk.responses.stream(response_id=id, starting_after=4) as stream:
        assert stream.get_final_response().output_text == "Hello."
    assert sdk.responses.cancel(id).status == "completed"
    sdk.responses.delete(id)
    with pytest.raises(openai.NotFoundError) as caught:
        sdk.responses.retrieve(id)
    assert caught.value.code == "not_found"


def test_a_background_response_is_polled_and_cancelled(sdk: openai.OpenAI, fakes: Fakes) -> None:
    fakes.ledger.script = []
    response = sdk.responses.create(model="demo", input="Hi", background=True)
    assert response.status == "queued"
    assert sdk.responses.retrieve(response.id).status == "queued"
    assert sdk.responses.cancel(response.id).status == "cancelled"


def test_a_cancelled_stream_ends(sdk: openai.OpenAI, fakes: Fakes) -> None:
    fakes.ledger.script = [TextDelta("a")]
    stream = sdk.responses.create(model="demo", input="Hi", stream=True)
    first = next(stream)
    sdk.responses.cancel(first.response.id)  # type: ignore[union-attr]
    last = list(stream)[-1]
    assert last.type == "response.incomplete"
    assert last.response.status == "cancelled"


def test_a_failure_is_an_http_error_without_a_stream_and_an_event_within_one(
    sdk: openai.OpenAI, fakes: Fakes
) -> None:
    fakes.ledger.script = [End("failed", code="engine_crashed", message="killed by SIGKILL")]
    with pytest.raises(openai.InternalServerError) as caught:
        sdk.responses.create(model="demo", input="Hi")
    assert caught.value.code == "engine_crashed"
    last = list(sdk.responses.create(model="demo", input="Hi", stream=True))[-1]
    assert last.type == "response.failed"
    assert last.response.error is not None
    assert last.response.error.message == "engine_crashed: killed by SIGKILL"


def test_errors_carry_code_and_param(sdk: openai.OpenAI) -> None:
    with pytest.raises(openai.BadRequestError) as caught:
        sdk.responses.create(model="demo", input=[{"type": "item_reference", "id": ""}])
    assert (caught.value.code, caught.value.param) == ("invalid_request", "input[0].id")


def test_a_chat_completion_is_returned_in_one_piece_and_streamed_with_usage(sdk: openai.OpenAI) -> None:
    messages = [{"role": "user", "content": "Hi"}]
    whole = sdk.chat.completions.create(model="demo", messages=messages)  # type: ignore[call-overload]
    assert whole.choices[0].message.content == "Hello."
    chunks = list(
        sdk.chat.completions.create(  # type: ignore[call-overload]
            model="demo", messages=messages, stream=True, stream_options={"include_usage": True}
        )
    )
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices) == "Hello."
    assert chunks[-1].usage == whole.usage


def test_a_failing_chat_stream_raises(sdk: openai.OpenAI, fakes: Fakes) -> None:
    fakes.ledger.script = [TextDelta("a"), End("failed", code="worker_lost", message="gone")]
    messages = [{"role": "user", "content": "Hi"}]
    with pytest.raises(openai.APIError) as caught:
        list(sdk.chat.completions.create(model="demo", messages=messages, stream=True))  # type: ignore[call-overload]
    assert caught.value.code == "worker_lost"


def test_models_are_listed(sdk: openai.OpenAI) -> None:
    assert [model.id for model in sdk.models.list()] == ["demo", "org/plain"]
    assert sdk.models.retrieve("demo").owned_by == "stoker"


def test_models_are_listed_and_retrieved_with_the_sdks_of_both_vendors(
    sdk: openai.OpenAI, port: int, fakes: Fakes
) -> None:
    fakes.fleet.states["org/plain"] = ModelState.LOADING
    with anthropic.Anthropic(
        api_key=KEY,
        base_url=f"http://127.0.0.1:{port}",
        max_retries=0,
        _strict_response_validation=True,
    ) as claude:
        first = claude.models.list(limit=1)
        assert ([model.id for model in first.data], first.has_more) == (["demo"], True)
        assert [model.id for model in claude.models.list(before_id="org/plain").data] == ["demo"]
        with pytest.raises(anthropic.BadRequestError, match="after_id"):
            claude.models.list(after_id="other")
        theirs = list(first)  # two pages
        assert [claude.models.retrieve(model.id) for model in theirs] == theirs
    ours = list(sdk.models.list())
    assert [sdk.models.retrieve(model.id) for model in ours] == ours
    assert [model.to_dict(mode="json") for model in theirs] == [model.to_dict(mode="json") for model in ours]
    assert [(model.display_name, model.lifecycle) for model in theirs] == [
        ("demo", "active"),
        ("org/plain", "active"),
    ]
    assert [model.max_input_tokens for model in theirs] == [4096, None]
    states = [(model.to_dict()["state"], model.to_dict()["context_length"]) for model in ours]
    assert states == [("loaded", 4096), ("loading", None)]
