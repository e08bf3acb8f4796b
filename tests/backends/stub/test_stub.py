"""The stub backend: its options and its directives."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import jsonschema_rs
import pytest

from backends.base import CancellationToken, GenerationError, LoadError
from backends.shared.start import KILLED
from backends.stub.engine.script import DirectiveError, directives_of
from config.settings import ModelDefinition
from engines.engine_process.errors import EngineLost
from generation.generation import (
    AudioPart,
    Generation,
    ImagePart,
    JsonFormat,
    Message,
    TextPart,
    Tool,
    text_content,
)
from generation.schemas.output_schema import enforceable
from streams.events import Delta, TextDelta, ToolCallDelta, Usage
from tests.backends.conftest import NAMESPACE, Launched, Start, ask
from tests.support.generations import run_generation
from tests.support.output_schemas import output_schema
from tests.support.process_groups import group_is_gone
from tests.support.waiting import scaled


def stub(**options: Any) -> ModelDefinition:
    named = {f"stub_{name}": value for name, value in options.items()}
    return ModelDefinition("model", "stub", load_timeout_s=scaled(5.0), options=named)


@pytest.fixture
def engine(start: Start) -> Launched:
    return start(stub(), slots=8)


# requests


def test_an_answer_fits_the_schema_of_its_format(engine: Launched) -> None:
    for seed in range(20):
        schema = output_schema(Random(seed))
        answer = engine.answer(ask("hi", output_format=JsonFormat(enforceable(schema))))
        jsonschema_rs.validate(schema, json.loads(answer.text))
    assert engine.answer(ask("hi", output_format=JsonFormat())).text == "{}"


def test_the_arguments_of_a_strict_tool_fit_its_schema(engine: Launched) -> None:
    schema = {"type": "object", "properties": {"city": {"enum": ["Oslo"]}}, "required": ["city"]}
    for strict, arguments in ((True, {"city": "Oslo"}), (False, {"echo": "hi"})):
        tool = Tool("get_weather", None, enforceable(schema), strict=strict)
        answer = engine.answer(ask("/stub tool_call=get_weather hi", tools=(tool,)))
        calls = [delta for delta in answer.deltas if isinstance(delta, ToolCallDelta)]
        assert json.loads("".join(call.arguments for call in calls)) == arguments


def test_each_answer_consists_of_the_same_numbered_tokens(engine: Launched) -> None:
    answer = engine.answer(ask("a question of five words"))
    assert answer.text == " ".join(f"tok{i}" for i in range(16))
    assert answer.finish is not None
    assert answer.finish.usage == Usage(5, 16, 0, 0)


def test_a_model_sets_the_length_of_an_answer(start: Start) -> None:
    assert start(stub(tokens=3)).answer(ask("hi")).text == "tok0 tok1 tok2"


def test_the_common_prefix_with_an_earlier_prompt_counts_as_cached(engine: Launched) -> None:
    def cached(*texts: str) -> int:
        finish = engine.answer(
            Generation(
                "model",
                tuple(Message("user", text_content(text)) for text in texts),
                cache_namespace=NAMESPACE,
            )
        ).finish
        assert finish is not None
        return finish.usage.cached_tokens

    assert cached("you are kind", "one two three") == 0
    assert cached("you are kind", "one two four") == 5
    assert cached("we are kind") == 0
    assert cached("you are kind", "one two three", "and on") == 6


def test_directives_end_where_the_text_begins() -> None:
    assert directives_of("/stub tokens=4 echo x=1 tokens=5") == ({"tokens": 4, "echo": True}, "x=1 tokens=5")
    assert directives_of("/stubborn tokens=4") == ({}, "/stubborn tokens=4")
    assert directives_of("/stub signal=SIGSEGV")[0] == directives_of("/stub signal=segv")[0]
    with pytest.raises(DirectiveError, match="'many' is not a value for the directive tokens"):
        directives_of("/stub tokens=many")


def test_a_directive_with_a_wrong_value_fails_only_its_request(engine: Launched) -> None:
    with pytest.raises(GenerationError, match="tokens") as caught:
        engine.answer(ask("/stub tokens=many"))
    assert caught.value.code == "invalid_prompt"


def test_directives_can_be_disabled(start: Start) -> None:
    launched = start(stub(directives=False, tokens=1))
    assert launched.answer(ask("/stub tokens=5 crash_after=0")).text == "tok0"


def test_echo_json_shows_the_whole_request(engine: Launched) -> None:
    request = ask("/stub echo_json", temperature=0.5, seed=3, thinking="disabled")
    assert Generation.from_json(engine.answer(request).text) == request


def test_an_image_reaches_the_engine_and_counts_as_a_word(engine: Launched) -> None:
    asked = Message("user", (ImagePart("data:a"), TextPart("/stub echo_json"), ImagePart("data:b")))
    request = Generation("model", (asked,), cache_namespace=NAMESPACE)
    first, again = engine.answer(request), engine.answer(request)
    assert Generation.from_json(first.text) == request
    assert first.finish is not None
    assert again.finish is not None
    assert (first.finish.usage.input_tokens, again.finish.usage.cached_tokens) == (4, 4)


def test_a_recording_reaches_the_engine_and_counts_as_a_word(engine: Launched) -> None:
    asked = Message("user", (TextPart("/stub echo_json"), AudioPart("UklG", "wav", 5)))
    request = Generation("model", (asked,), cache_namespace=NAMESPACE)
    answer = engine.answer(request)
    assert Generation.from_json(answer.text) == request
    assert answer.finish is not None
    assert answer.finish.usage.input_tokens == 3


def test_reasoning_tokens_are_counted(engine: Launched) -> None:
    answer = engine.answer(ask("/stub thinking=2 tokens=1"))
    assert (answer.reasoning, answer.text) == ("think0 think1", "tok0")
    assert answer.finish is not None
    assert answer.finish.usage.reasoning_tokens == 2


def test_max_tokens_includes_the_reasoning(engine: Launched) -> None:
    answer = engine.answer(ask("/stub thinking=2 tokens=9", max_tokens=3))
    assert (answer.reasoning, answer.text) == ("think0 think1", "tok0")
    assert answer.finish is not None
    assert answer.finish.reason == "length"


def test_a_stop_string_may_span_several_tokens(engine: Launched) -> None:
    assert engine.answer(ask("hi", stop=("never", "k2 to"))).text == "tok0 tok1 to"


def test_a_tool_call_may_follow_a_text(engine: Launched) -> None:
    answer = engine.answer(ask("/stub tokens=1 tool_call=look Oslo now"))
    assert answer.text == "tok0"
    calls = [delta for delta in answer.deltas if isinstance(delta, ToolCallDelta)]
    assert "".join(call.arguments for call in calls) == '{"echo": "Oslo now"}'
    assert (calls[0].name, answer.deltas[0]) == ("look", TextDelta("tok0"))


def test_an_error_has_the_code_of_the_directive(engine: Launched) -> None:
    with pytest.raises(GenerationError) as caught:
        engine.answer(ask("/stub error=out_of_luck"))
    assert caught.value.code == "out_of_luck"


def test_a_speed_is_respected(engine: Launched) -> None:
    begun = time.monotonic()
    answer = engine.answer(ask("/stub tokens=21 tokens_per_s=100"))
    assert answer.times[-1] - begun >= 0.19


@pytest.mark.parametrize(("option", "directive"), [(0.1, ""), (0.0, "first_token_s=0.1")])
def test_the_first_token_can_be_late(start: Start, option: float, directive: str) -> None:
    launched = start(stub(first_token_s=option))
    begun = time.monotonic()
    answer = launched.answer(ask(f"/stub {directive}"))
    assert answer.times[0] - begun >= 0.1


def test_a_request_waits_while_all_slots_are_taken(start: Start) -> None:
    launched = start(stub(), slots=1)
    first, first_thread = launched.begin(ask("/stub stall_after=1"), id="first")
    assert first.first_delta.wait(scaled(5))
    second, second_thread = launched.begin(ask("hi"), id="second")
    third, third_thread = launched.begin(ask("/stub stall_after=1"), id="third")
    launched.cancel("third")
    third_thread.join(scaled(5))
    assert third.finish is not None
    assert third.finish.reason == "cancelled"
    assert not second.first_delta.is_set()
    launched.cancel("first")
    for thread in (first_thread, second_thread):
        thread.join(scaled(5))
    assert second.text.endswith("tok15")


# faults


@pytest.mark.parametrize(
    ("directives", "tokens", "reason"),
    [
        ("crash_after=3", 3, "killed by SIGKILL"),
        ("crash_after=0", 0, "killed by SIGKILL"),
        ("crash_after=2 signal=SEGV", 2, "killed by SIGSEGV"),
        ("exit0_after=2", 2, "exited with code 0"),
        ("garbage_after=2", 2, "sent malformed data"),
    ],
)
def test_an_engine_that_dies_is_lost_within_a_second(
    engine: Launched, directives: str, tokens: int, reason: str
) -> None:
    other, thread = engine.begin(ask("/stub stall_after=1"), id="other")
    assert other.first_delta.wait(scaled(5))
    deltas: list[Delta] = []
    begun = time.monotonic()
    with pytest.raises(EngineLost, match=reason) as caught:
        run_generation(engine.engine, "dying", ask(f"/stub {directives}"), deltas.append)
    assert time.monotonic() - begun < scaled(0.25)
    assert caught.value.code == "engine_crashed"
    assert len("".join(delta.text for delta in deltas).split()) == tokens  # type: ignore[union-attr]
    thread.join(scaled(5))
    assert isinstance(other.error, EngineLost)
    assert engine.exits.get(timeout=scaled(5)).expected is False
    assert group_is_gone(engine.engine.pid)


def test_a_hung_engine_holds_up_neither_cancel_nor_stop(engine: Launched) -> None:
    answer, thread = engine.begin(ask("/stub hang_after=1"))
    assert answer.first_delta.wait(scaled(5))
    blocked = [engine.begin(ask("x" * 200_000), id=f"blocked-{i}") for i in range(2)]
    begun = time.monotonic()
    engine.cancel("only")
    engine.engine.stop(0.5)
    assert time.monotonic() - begun < scaled(2)
    for one, its_thread in [(answer, thread), *blocked]:
        its_thread.join(scaled(5))
        assert isinstance(one.error, EngineLost)


def test_sigterm_can_be_ignored(start: Start) -> None:
    launched = start(stub(ignore_sigterm=True))
    launched.engine.stop(0.05)
    ended = launched.exits.get(timeout=scaled(5))
    assert (ended.signal, ended.expected) == (signal.SIGKILL, True)


# loads


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        ({"load_fail": "no room for it"}, "load_failed", "no room for it"),
        ({"load_crash": True}, "load_failed", f"engine killed by SIGKILL while loading{KILLED}"),
    ],
)
def test_a_load_that_fails_reports_the_reason(
    start: Start, options: dict[str, Any], code: str, message: str
) -> None:
    with pytest.raises(LoadError) as caught:
        start(stub(**options))
    assert (caught.value.code, str(caught.value)) == (code, message)


def test_a_load_that_hangs_can_be_cancelled(start: Start) -> None:
    hung, cancellation = threading.Event(), CancellationToken()
    threading.Thread(target=lambda: hung.wait(scaled(5)) and cancellation.cancel()).start()
    with pytest.raises(LoadError) as caught:
        start(
            stub(load_hang=True),
            progress=lambda _done, _stage: hung.set(),
            cancellation=cancellation,
        )
    assert caught.value.code == "load_cancelled"


def test_a_slow_load_reports_its_progress(start: Start) -> None:
    fractions = [done for done, _ in start(stub(load_s=0.1)).progress]
    assert len(set(fractions)) > 10


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_load_takes_and_holds_the_configured_memory(start: Start) -> None:
    def resident_mib(launched: Launched) -> int:
        pages = int(Path(f"/proc/{launched.engine.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") >> 20

    bare, launched = start(stub()), start(stub(memory_mib=201))
    launched.answer(ask("hi"))
    assert 200 <= resident_mib(launched) - resident_mib(bare) < 201 + 16


# speed


def test_the_stub_is_fast_enough_for_benchmarks(start: Start) -> None:
    """Measured in CPU time of this process, which does not depend on the load of the machine."""
    launched = start(stub(), slots=64)
    counts: Counter[int] = Counter()

    def run(i: int) -> None:
        def emit(delta: Delta) -> None:
            counts[i] += delta.text.count("tok")  # type: ignore[union-attr]

        run_generation(launched.engine, f"quick-{i}", ask("/stub tokens=2000"), emit)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(64)]
    begun = time.process_time()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counts.total() == 64 * 2000
    assert counts.total() / (time.process_time() - begun) > 200_000


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_the_engine_imports_only_the_standard_library(engine: Launched) -> None:
    maps = Path(f"/proc/{engine.engine.pid}/maps").read_text()
    assert "site-packages" not in maps
    assert os.getpgid(engine.engine.pid) == engine.engine.pid
