"""Chat templates that never end or fill the memory, on both backends of llama.cpp."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from backends.base import GenerationError, LoadError
from backends.llama_server import template_trial
from backends.llama_server.server_engine import LlamaServerEngine
from generation.generation import Generation, Message, text_content
from tests.backends.conftest import Start, ask, has_ended
from tests.backends.test_odd_gguf import BACKENDS, model
from tests.support.odd_gguf import ENDLESS, ENDLESS_FOR_MANY, with_template
from tests.support.waiting import scaled

pytestmark = pytest.mark.engines

UNKNOWN_TO_LLAMA_SERVER = {"a number with a billion digits", "a wide text"}
"""Its own Jinja has no powers, and not the filter."""


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", ENDLESS)
def test_a_template_that_never_ends_fails_the_load_with_one_sentence(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, backend: str, name: str
) -> None:
    monkeypatch.setattr(template_trial, "CPU_LIMIT_S", 1)
    definition = model(backend, with_template(ENDLESS[name])(tmp_path))
    with pytest.raises(LoadError) as caught:
        start(replace(definition, load_timeout_s=600.0))
    assert caught.value.code == "load_failed"
    message = str(caught.value)
    assert message.startswith("the chat template in the model's file "), message
    if backend != "llama_server" or name not in UNKNOWN_TO_LLAMA_SERVER:
        assert "more than" in message


def many(text: str = "a") -> Generation:
    """A conversation for which the template `ENDLESS_FOR_MANY` never ends."""
    return replace(ask(text), messages=tuple(Message("user", text_content(text)) for _ in range(9)))


def test_messages_that_a_template_does_not_finish_are_refused_while_others_are_answered(
    start: Start, tmp_path: Path
) -> None:
    launched = start(model("llama_cpp", with_template(ENDLESS_FOR_MANY)(tmp_path), n_ctx=256))
    endless, thread = launched.begin(many(), "endless")
    assert launched.answer(ask("a", max_tokens=3)).finish is not None
    thread.join(scaled(120))
    assert isinstance(endless.error, GenerationError)
    assert endless.error.code == "invalid_prompt"
    assert "the model's chat template takes more than" in str(endless.error)
    assert launched.answer(ask("a", max_tokens=3)).finish is not None


def test_messages_that_llama_server_does_not_finish_are_refused_and_its_process_is_ended(
    start: Start, tmp_path: Path
) -> None:
    launched = start(model("llama_server", with_template(ENDLESS_FOR_MANY)(tmp_path), n_ctx=256))
    engine = launched.engine
    assert isinstance(engine, LlamaServerEngine)
    engine.preparation_limit_s = 0.1
    answer, thread = launched.begin(many())
    thread.join(scaled(60))
    assert isinstance(answer.error, GenerationError)
    assert answer.error.code == "invalid_prompt"
    assert "chat template" in str(answer.error)
    assert has_ended(engine.pid, scaled(10))


def test_a_request_that_waits_for_its_turn_is_not_taken_for_an_endless_one(start: Start) -> None:
    from tests.backends.llama_server.test_llama_server import llama

    launched = start(llama(), slots=1)
    engine = launched.engine
    assert isinstance(engine, LlamaServerEngine)
    engine.preparation_limit_s = 0.0
    answers = [launched.begin(ask("Count to a thousand.", max_tokens=200), f"r{n}") for n in range(6)]
    for answer, thread in answers:
        thread.join(scaled(120))
        assert answer.error is None
        assert answer.finish is not None
