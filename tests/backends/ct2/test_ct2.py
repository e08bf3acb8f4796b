"""CTranslate2: the contract for a generator and for a translator, their own features, and loads that fail."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from backends.base import GenerationError, LoadError
from config.commands import program
from config.settings import ModelDefinition
from generation.generation import Generation, Message, NamedTool, Sampling, ToolCall, ToolChoice, text_content
from streams.events import ToolCallDelta
from tests.backends.conftest import Launched, Start, ask
from tests.backends.contract import WEATHER, called
from tests.backends.contract_local import LocalEngineContract
from tests.backends.contract_models import LETTERS, TIME, DemoModelContract
from tests.checkpoints.fixtures import python_of
from tests.support.waiting import scaled

pytestmark = [pytest.mark.engines, pytest.mark.timeout(300)]

ECHO = Path(__file__).with_name("echo.py")


def ct2(folder: Path, options: dict[str, Any] | None = None, **fields: Any) -> ModelDefinition:
    named = {f"ct2_{name}": value for name, value in {"threads": 1, **(options or {})}.items()}
    return ModelDefinition("model", "ct2", model_path=str(folder), options=named, **fields)


def after_call(arguments: str) -> Generation:
    """A conversation with a tool call that has these arguments."""
    call = ToolCall("call", "get_weather", arguments)
    messages = (
        Message("user", text_content("What is the weather in Oslo?")),
        Message("assistant", (), tool_calls=(call,)),
        Message("tool", text_content("Sunny."), tool_call_id="call"),
        Message("user", text_content("What is the capital of Norway?")),
    )
    return Generation("model", messages, Sampling(max_tokens=8, temperature=0.0))


def texts(request: Generation, launched: Launched, at_once: int) -> list[str]:
    """The answers to `at_once` identical requests that run together."""
    running = [launched.begin(request, id=f"same-{i}") for i in range(at_once)]
    for _, thread in running:
        thread.join()
    assert [answer.error for answer, _ in running] == [None] * at_once
    return [answer.text for answer, _ in running]


class TestCt2(DemoModelContract, LocalEngineContract):
    backend = "ct2"
    kind = "generator"
    names_stops = True
    seeded = False  # the library has one seed for all requests
    takes_prompts = False
    caches_prompts = False
    folder: Path

    @pytest.fixture(scope="class", autouse=True)
    @classmethod
    def converted(cls, demo_ct2: Path) -> None:
        cls.folder = demo_ct2

    def model(self, **fields: object) -> ModelDefinition:
        return ct2(self.folder, prompt_format="qwen3_template", **fields)

    def bad(self) -> Generation:
        return ask("Hello.", temperature=-1.0)

    @pytest.mark.parametrize("choice", [NamedTool("get_time"), "required"])
    def test_a_required_tool_call_is_forced(self, shared: Launched, choice: ToolChoice) -> None:
        fields = {"tools": (WEATHER, TIME), "tool_choice": choice, "temperature": 0.0}
        name, arguments = called(shared, ask("What is the weather in Oslo?", **fields))
        assert name == ("get_time" if isinstance(choice, NamedTool) else "get_weather")
        assert arguments == {"city": "Oslo"}

    def test_letters_of_all_scripts_are_not_split(self) -> None:
        """The model cannot be made to generate them, so the tokens of a text are decoded like those of an
        answer."""
        command = [python_of("ct2"), "-I", ECHO, self.folder / "tokenizer.json"]
        echo = subprocess.run(command, input=LETTERS, capture_output=True, check=True, text=True)
        pieces = json.loads(echo.stdout)
        assert len(pieces) > 10
        assert "".join(pieces) == LETTERS

    def test_an_answer_is_the_same_in_a_batch_and_alone(self, shared: Launched) -> None:
        """Prompts of different lengths and samplings run together, some of them in one batch."""
        capitals = {"Norway": "Oslo", "France": "Paris", "Japan": "Tokyo", "Italy": "Rome"}
        requests = [ask(f"What is the capital of {country}?", temperature=0.0) for country in capitals]
        requests.append(ask("Count to twenty.", temperature=0.0))
        requests.append(ask("What is the capital of Norway? " * 20, temperature=0.0))
        alone = [shared.answer(request).text for request in requests]
        assert [city in text for city, text in zip(capitals.values(), alone, strict=False)] == [True] * 4
        running = [shared.begin(request, id=f"with-{i}") for i, request in enumerate(requests * 2)]
        hot = shared.begin(ask("Say anything.", temperature=2.0, max_tokens=50), id="hot")
        for _, thread in (*running, hot):
            thread.join()
        assert [answer.text for answer, _ in running] == alone * 2

    @pytest.mark.parametrize("arguments", ['{"city":"\\ud800"}', '{"a":' * 3000 + "1" + "}" * 3000])
    def test_tool_call_arguments_of_an_odd_form_do_not_affect_other_requests(
        self, shared: Launched, arguments: str
    ) -> None:
        other, thread = shared.begin(self.long(max_tokens=200), id="other")
        try:
            assert shared.answer(after_call(arguments)).finish is not None
        except GenerationError as error:
            assert error.code in ("invalid_prompt", "engine_error")  # noqa: PT017 - both are correct
        thread.join()
        assert other.error is None

    @pytest.mark.parametrize("sampling", [{"top_p": 1e-300}, {"temperature": 1e-300}, {"temperature": 1e-5}])
    def test_sampling_values_too_small_for_the_library_take_the_best_token(
        self, shared: Launched, sampling: dict[str, float]
    ) -> None:
        best = shared.answer(self.short(max_tokens=20)).text
        assert shared.answer(self.short(**{"temperature": 2.0, "max_tokens": 20, **sampling})).text == best

    def test_a_prompt_far_too_long_is_refused_without_counting_its_tokens(self, shared: Launched) -> None:
        with pytest.raises(GenerationError, match="does not fit: 4095 tokens fit") as caught:
            shared.answer(ask("word " * 1_000_000))
        assert caught.value.code == "context_length_exceeded"

    def test_special_tokens_are_text_when_a_message_has_them(self, shared: Launched) -> None:
        def input_tokens(text: str) -> int:
            finish = shared.answer(ask(text, max_tokens=1)).finish
            assert finish is not None
            return finish.usage.input_tokens

        assert input_tokens("a<|im_end|>" * 10) - input_tokens("a" * 10) >= 10 * len("im_end") // 2

    def test_a_short_request_does_not_wait_for_a_long_one(self, shared: Launched) -> None:
        long, thread = shared.begin(self.long(), id="long")
        assert long.first_delta.wait(scaled(10))
        short = shared.answer(self.short(), id="short")
        thread.join()
        assert long.times[-1] > short.times[-1]

    def test_more_requests_than_slots_are_all_answered(self, shared: Launched) -> None:
        alone = shared.answer(self.short()).text
        assert texts(self.short(), shared, at_once=24) == [alone] * 24

    def test_the_context_is_that_of_the_tokenizer_unless_it_is_set(
        self, shared: Launched, start: Start
    ) -> None:
        assert shared.engine.context == 4096
        assert start(ct2(self.folder, {"n_ctx": 100})).engine.context == 100


class TestTranslator(LocalEngineContract):
    backend = "ct2"
    counts_tools = False
    kind = "translator"
    seeded = False  # it takes the best translation, each time
    takes_prompts = False
    thinks = False
    caches_prompts = False
    folder: Path

    @pytest.fixture(scope="class", autouse=True)
    @classmethod
    def trained(cls, demo_translator: Path) -> None:
        cls.folder = demo_translator

    def model(self, **fields: object) -> ModelDefinition:
        return ct2(self.folder, {"task": "translate", "n_ctx": 20_000}, **fields)

    def request(self, text: str, **fields: object) -> Generation:
        return ask(text, **{"source_lang_code": "en", "target_lang_code": "de", **fields})

    def short(self, **fields: object) -> Generation:
        return self.request("one, two, three, four, five, six", **fields)

    def long(self, **fields: object) -> Generation:
        return self.request("I see the garden. Where is the station?\n" * 1000, **fields)

    def long_prompt(self, **fields: object) -> Generation:
        text = "I see the garden. Where is the station?\n" * 250
        return self.request(text, **{"max_tokens": 2, **fields})

    def too_long(self) -> Generation:
        return self.request("word " * 30_000)

    def bad(self) -> Generation:
        return self.request("Hello.", target_lang_code="ja")

    def test_a_tool_call_is_complete(self, shared: Launched) -> None:
        """There is none: a translator takes a text."""
        with pytest.raises(GenerationError) as caught:
            shared.answer(self.request("Hello.", tools=(WEATHER,)))
        assert caught.value.code == "invalid_prompt"

    @pytest.mark.parametrize(
        ("text", "fields", "expected"),
        [
            ("Good morning.", {}, "Guten Morgen."),
            ("Good morning.", {"target_lang_code": "fr-FR"}, "Bonjour."),
            ("Guten Morgen.", {"source_lang_code": "deu_Latn", "target_lang_code": "en-GB"}, "Good morning."),
            ("The dog is big. Where is it?", {"max_tokens": 1}, "Der"),
            ("", {}, ""),
        ],
    )
    def test_a_text_is_translated(
        self, shared: Launched, text: str, fields: dict[str, object], expected: str
    ) -> None:
        assert shared.answer(self.request(text, **fields)).text == expected

    def test_text_between_sentences_is_preserved(self, shared: Launched) -> None:
        text = "The dog is big. The cat is small.\n\n  - I see the house.\n* Hello.\n---\n12.50\n"
        answer = shared.answer(self.request(text))
        assert answer.text == (
            "Der Hund ist groß. Die Katze ist klein.\n\n  - Ich sehe das Haus.\n* Hallo.\n---\n12.50\n"
        )
        assert answer.finish is not None
        assert answer.finish.usage.input_tokens > answer.finish.usage.output_tokens

    def test_the_sentences_of_a_text_stay_in_order(self, shared: Launched) -> None:
        numbers = {"one": "eins", "two": "zwei", "three": "drei", "four": "vier", "five": "fünf"}
        words = [list(numbers)[i * 7 % 5] for i in range(200)]
        answer = shared.answer(self.request("\n".join(words)))
        assert answer.text.split("\n") == [numbers[word] for word in words]

    def test_a_text_without_sentences_is_returned_unchanged(self, start: Start) -> None:
        """It takes many iterations of the loop, between which other requests are handled."""
        launched = start(ct2(self.folder, {"task": "translate"}))
        text = "1\n---\n\n" * 20_000
        long, thread = launched.begin(self.request(text), id="numbers")
        assert launched.answer(self.request("Good morning."), id="short").text == "Guten Morgen."
        thread.join()
        assert long.error is None
        assert long.text == text

    def test_a_text_without_sentences_can_be_cancelled(self, start: Start) -> None:
        launched = start(ct2(self.folder, {"task": "translate"}))
        long, thread = launched.begin(self.request("1\n" * 500_000), id="numbers")
        assert long.first_delta.wait(scaled(30))
        launched.cancel("numbers")
        thread.join()
        assert long.finish is not None
        assert long.finish.reason == "cancelled"

    def test_a_sentence_that_is_too_long_is_cut(self, shared: Launched) -> None:
        answer = shared.answer(self.request(", ".join(["one", "two", "three"] * 150)))
        assert answer.finish is not None
        assert answer.text.count("eins") > 50

    @pytest.mark.parametrize("source", [None, "auto"])
    def test_a_missing_source_language_is_refused(self, shared: Launched, source: str | None) -> None:
        with pytest.raises(GenerationError, match="source_lang_code is missing") as caught:
            shared.answer(self.request("Hello.", source_lang_code=source))
        assert caught.value.code == "invalid_prompt"

    def test_an_unknown_language_is_refused_with_the_known_ones(self, shared: Launched) -> None:
        with pytest.raises(GenerationError, match=r"does not support ja, only deu_Latn, eng_Latn, fra_Latn$"):
            shared.answer(self.request("Hello.", target_lang_code="ja"))

    def test_the_models_options_are_the_defaults_of_requests(self, start: Start) -> None:
        languages = {"source_lang_code": "en", "target_lang_code": "de"}
        launched = start(ct2(self.folder, {"task": "translate", **languages}))
        assert launched.answer(ask("Good morning.")).text == "Guten Morgen."
        assert launched.answer(ask("Good morning.", target_lang_code="fr")).text == "Bonjour."

    def test_a_search_with_several_beams_streams_whole_sentences(self, start: Start) -> None:
        launched = start(ct2(self.folder, {"task": "translate", "beam_size": 4}))
        answer = launched.answer(self.request("The dog is big. The cat is small."))
        assert answer.text == "Der Hund ist groß. Die Katze ist klein."
        cut = launched.answer(self.request("The dog is big. The cat is small.", max_tokens=4))
        assert cut.finish is not None
        assert (cut.finish.reason, cut.finish.usage.output_tokens) == ("length", 4)


def test_a_marian_model_gets_the_target_language_before_the_text(start: Start, opus_translator: Path) -> None:
    launched = start(ct2(opus_translator, {"task": "translate"}))
    assert launched.answer(ask("Good morning.", target_lang_code="de")).text == "Guten Morgen."
    assert launched.answer(ask("Good morning.", target_lang_code="fr")).text == "Bonjour."
    with pytest.raises(GenerationError, match="target_lang_code is missing; there are deu, eng, fra"):
        launched.answer(ask("Good morning."))


# loads that fail


@pytest.fixture
def copy(demo_ct2: Path, tmp_path: Path) -> Path:
    """A copy of a model whose files a test may damage."""
    folder = tmp_path / "copy"
    shutil.copytree(demo_ct2, folder)
    return folder


def refusal(start: Start, model: ModelDefinition) -> str:
    with pytest.raises(LoadError) as caught:
        start(model)
    assert caught.value.code == "load_failed"
    return str(caught.value)


@pytest.mark.parametrize("missing", ["tokenizer.json", "chat_template.jinja", "model.bin"])
def test_a_missing_file_is_reported_with_the_command_that_creates_it(
    start: Start, copy: Path, missing: str
) -> None:
    (copy / missing).unlink()
    settings = copy / "tokenizer_config.json"
    settings.write_text(settings.read_text().replace('"chat_template"', '"no_template"'))
    message = refusal(start, ct2(copy))
    assert "ct2-transformers-converter" in message
    assert missing in message or missing == "model.bin"


@pytest.mark.parametrize("damaged", ["tokenizer.json", "chat_template.jinja"])
def test_a_damaged_file_is_reported(start: Start, copy: Path, damaged: str) -> None:
    (copy / damaged).write_text("{% nonsense")
    assert "beside the model cannot be read" in refusal(start, ct2(copy))


def test_the_tokenizer_of_another_model_is_refused(start: Start, copy: Path, demo_translator: Path) -> None:
    shutil.copyfile(demo_translator / "tokenizer.json", copy / "tokenizer.json")
    assert "tokenizer.json is not this model's" in refusal(start, ct2(copy))


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"task": "translate"}, "the model has another kind: ct2_task is generate for"),
        ({"compute_type": "float8"}, "ct2_compute_type float8 is not available here, only default, float32"),
        ({"python": "/nowhere/python"}, "there is no Python /nowhere/python"),
    ],
)
def test_an_option_that_does_not_fit_is_reported(
    start: Start, demo_ct2: Path, options: dict[str, str], sentence: str
) -> None:
    assert sentence in refusal(start, ct2(demo_ct2, options))


def test_a_translator_cannot_be_loaded_as_a_generator(start: Start, demo_translator: Path) -> None:
    assert "ct2_task is generate for" in refusal(start, ct2(demo_translator))


def test_a_default_language_that_the_model_does_not_know_is_refused(
    start: Start, demo_translator: Path
) -> None:
    message = refusal(start, ct2(demo_translator, {"task": "translate", "target_lang_code": "ja"}))
    assert message.startswith("correct ct2_target_lang_code: this model does not support ja, only deu_Latn")


def test_a_python_without_the_library_is_reported_with_the_command_that_installs_it(
    start: Start, demo_ct2: Path, tmp_path: Path
) -> None:
    bare = tmp_path / "python"
    bare.write_text('#!/bin/sh\nexec /usr/bin/env python3 -S "$@"\n')
    bare.chmod(0o755)
    message = refusal(start, ct2(demo_ct2, {"python": str(bare)}))
    assert f"ctranslate2 cannot be imported: run `{program()} runtimes install ct2`" in message


def test_a_missing_model_folder_is_reported(start: Start, tmp_path: Path) -> None:
    assert "correct model_path" in refusal(start, ct2(tmp_path / "nothing"))


def test_a_call_that_cannot_be_forced_is_refused(start: Start, demo_ct2: Path) -> None:
    launched = start(ct2(demo_ct2, prompt_format="gemma4_template"))
    with pytest.raises(GenerationError, match="cannot be made to call a tool") as caught:
        launched.answer(ask("Hello.", tools=(WEATHER,), tool_choice="required"))
    assert caught.value.code == "invalid_prompt"
    deltas = launched.answer(ask("Hello.", max_tokens=5, tools=(WEATHER,))).deltas
    assert not any(isinstance(delta, ToolCallDelta) for delta in deltas)
