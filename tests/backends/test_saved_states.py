"""The state of a conversation in a real engine: saved, restored, erased; what is restored is used."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Coroutine, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar, cast

import pytest

from backends.base import GenerationError, KeepsStates, SavedSequence, StateChoice
from backends.llama_server.server_engine import LlamaServerEngine
from config.settings import ModelDefinition
from generation.generation import Generation, Message, Sampling, text_content
from tests.backends.conftest import DEMO_MODEL, Launched, Launcher, Start, ask
from tests.backends.llama_cpp import tiny_gguf
from tests.support.freezing import freeze
from tests.support.generations import engine_loop
from tests.support.process_groups import core_of
from tests.support.waiting import scaled, wait_until

pytestmark = pytest.mark.engines

T = TypeVar("T")
OWN, OTHER = "a" * 32, "b" * 32
MODELS = {
    "llama_cpp": {"gguf_n_ctx": 1024, "gguf_threads": 1},
    "llama_server": {"llama_server_n_ctx": 1024, "llama_server_threads": 1},
}


@pytest.fixture(scope="module", params=MODELS)
def running(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Launched]:
    """An engine with two slots of each backend that saves states."""
    folder = tmp_path_factory.mktemp("states")
    launcher = Launcher(folder)
    model = ModelDefinition("model", request.param, model_path=str(DEMO_MODEL), options=MODELS[request.param])
    yield launcher(model, slots=2, states=new_folder(folder))
    launcher.stop_all()


def new_folder(parent: Path) -> Path:
    folder = parent / "engine"
    folder.mkdir(mode=0o700)
    return folder


def run(action: Coroutine[Any, Any, T]) -> T:
    return asyncio.run_coroutine_threadsafe(action, engine_loop()).result(scaled(30))


def engine(launched: Launched) -> KeepsStates:
    assert isinstance(launched.engine, KeepsStates)
    return launched.engine


def save(launched: Launched, choice: StateChoice, name: str) -> SavedSequence:
    return run(engine(launched).save_state(choice, name))


def restore(launched: Launched, choice: StateChoice, name: str, saved: SavedSequence) -> int:
    return run(engine(launched).restore_state(choice, name, saved.note))


def erase(launched: Launched, choice: StateChoice) -> int:
    return run(engine(launched).erase_state(choice))


def question(topic: str, conversation: str | None = None, namespace: str = OWN) -> Generation:
    """A request with a prompt of some hundred tokens."""
    asked = ask(f"{topic} " * 100 + "What is the capital of Norway?", temperature=0.0, max_tokens=8)
    return replace(asked, cache_namespace=namespace, conversation=conversation)


def cached(launched: Launched, request: Generation) -> tuple[int, str]:
    """The cached tokens and the text of an answer."""
    answer = launched.answer(request)
    assert answer.finish is not None
    return answer.finish.usage.cached_tokens, answer.text


@pytest.fixture
def launched(running: Launched) -> Launched:
    """The engine, with nothing in its cache."""
    running.flush()
    return running


def test_a_restored_state_is_used_by_the_next_prompt_and_changes_no_answer(launched: Launched) -> None:
    request = question("north", "first")
    none, text = cached(launched, request)
    assert none == 0
    saved = save(launched, StateChoice(OWN, "first"), "one")
    assert saved.tokens > 100
    launched.flush()
    assert restore(launched, StateChoice(OWN, "first"), "one", saved) == saved.tokens
    count, again = cached(launched, request)
    assert (count > 100, again) == (True, text)


def test_a_restored_state_is_used_in_its_namespace_only(launched: Launched) -> None:
    cached(launched, question("north", "first"))
    saved = save(launched, StateChoice(OWN, "first"), "two")
    launched.flush()
    restore(launched, StateChoice(OWN, "first"), "two", saved)
    assert cached(launched, question("north", "first", OTHER))[0] == 0


def test_a_conversation_is_saved_whatever_ran_after_it(launched: Launched) -> None:
    first, second = question("north", "first"), question("south", "second")
    cached(launched, first)
    cached(launched, second)
    saved = save(launched, StateChoice(OWN, "first"), "three")
    launched.flush()
    restore(launched, StateChoice(OWN, "first"), "three", saved)
    assert cached(launched, second)[0] < 30
    assert cached(launched, first)[0] > 100


def test_a_place_counts_from_the_last_used_state(launched: Launched) -> None:
    cached(launched, question("north"))
    cached(launched, question("south"))
    erase(launched, StateChoice(OWN, place=1))
    assert cached(launched, question("south"))[0] > 100
    with pytest.raises(GenerationError, match="no such state"):
        save(launched, StateChoice(OWN, place=5), "four")


def test_a_state_of_another_namespace_cannot_be_saved_or_erased(launched: Launched) -> None:
    cached(launched, question("north", "first"))
    for choice in (StateChoice(OTHER), StateChoice(OTHER, "first")):
        with pytest.raises(GenerationError, match="no such state"):
            save(launched, choice, "five")
        with pytest.raises(GenerationError, match="no such state"):
            erase(launched, choice)
    assert cached(launched, question("north", "first"))[0] > 100


def test_an_erased_conversation_is_read_again(launched: Launched) -> None:
    cached(launched, question("north", "first"))
    assert erase(launched, StateChoice(OWN, "first")) > 100
    assert cached(launched, question("north", "first"))[0] == 0


def test_a_state_in_use_is_refused_and_its_answer_goes_on(launched: Launched) -> None:
    asked = ask("Count from 1 to 100, in words.", temperature=0.0, max_tokens=400, cache_namespace=OWN)
    request = replace(asked, conversation="first")
    text = launched.answer(request).text
    choice, keeper = StateChoice(OWN, "first"), engine(launched)
    core = core_of(launched.engine.pid or 0)
    if isinstance(keeper, LlamaServerEngine):  # its adapter knows the slot before the server begins
        freeze(core)
    answer, thread = launched.begin(request, id="running")
    if isinstance(keeper, LlamaServerEngine):
        slots = keeper._slots._slots
        wait_until(lambda: any(slot.busy for slot in slots))
    else:
        answer.first_delta.wait(scaled(30))
        freeze(core)  # so that the answer is not the quicker one
    actions = [
        asyncio.run_coroutine_threadsafe(action, engine_loop())
        for action in (keeper.save_state(choice, "six"), keeper.erase_state(choice))
    ]
    if isinstance(keeper, LlamaServerEngine):
        wait_until(lambda: all(action.done() for action in actions), 30)
    else:  # the requests have been sent to the engine
        asyncio.run_coroutine_threadsafe(asyncio.sleep(0), engine_loop()).result(scaled(30))
    os.kill(core, signal.SIGCONT)
    for action in actions:
        with pytest.raises(GenerationError) as refused:
            action.result(scaled(30))
        assert refused.value.code == "conversation_locked"
    launched.cancel("running")
    thread.join()
    assert text.startswith(answer.text)


def test_a_file_that_the_library_refuses_leaves_an_engine_that_answers(launched: Launched) -> None:
    request = question("north", "first")
    _, text = cached(launched, request)
    saved = save(launched, StateChoice(OWN, "first"), "seven")
    path = cast("Path", engine(launched).state_folder) / "seven"
    os.truncate(path, 8)
    with pytest.raises(GenerationError) as refused:
        restore(launched, StateChoice(OWN, "first"), "seven", saved)
    assert refused.value.code == "state_unusable"
    assert cached(launched, request)[1] == text


def test_a_restored_state_takes_the_place_of_its_conversation(launched: Launched) -> None:
    """Another conversation of the tenant stays in the cache."""
    cached(launched, question("north", "first"))
    saved = save(launched, StateChoice(OWN, "first"), "eight")
    cached(launched, question("south", "second"))
    restore(launched, StateChoice(OWN, "first"), "eight", saved)
    assert cached(launched, question("south", "second"))[0] > 100
    assert cached(launched, question("north", "first"))[0] > 100


@pytest.mark.parametrize("kind", ["gemma3", "qwen35"])
@pytest.mark.parametrize("backend", MODELS)
def test_the_next_turn_continues_a_restored_state_of_a_model_that_cannot_be_rolled_back(
    start: Start, tmp_path: Path, kind: str, backend: str
) -> None:
    path = tiny_gguf.write(tmp_path / "model.gguf", kind)
    model = ModelDefinition("model", backend, model_path=str(path), options=MODELS[backend])
    launched = start(model, slots=2, states=new_folder(tmp_path))
    first = (Message("user", text_content("word " * 100)),)
    asked = Generation("model", first, Sampling(temperature=0.0, max_tokens=1), cache_namespace=OWN)
    answer = launched.answer(asked)
    turns = (Message("assistant", text_content(answer.text)), Message("user", text_content("And on.")))
    following = replace(asked, messages=(*first, *turns), sampling=Sampling(temperature=0.0, max_tokens=8))
    saved = save(launched, StateChoice(OWN), "turn")
    expected = launched.answer(replace(following, cache_namespace=OTHER)).text
    launched.flush()
    restore(launched, StateChoice(OWN), "turn", saved)
    assert cached(launched, following)[1] == expected
    launched.flush()
    restore(launched, StateChoice(OWN), "turn", saved)
    assert cached(launched, following)[0] > 400


@pytest.mark.parametrize("backend", MODELS)
def test_a_state_that_does_not_fit_on_the_disk_is_refused_and_the_engine_answers(
    start: Start, small_disk: Path, backend: str
) -> None:
    model = ModelDefinition("model", backend, model_path=str(DEMO_MODEL), options=MODELS[backend])
    launched = start(model, slots=2, states=new_folder(small_disk))
    text = cached(launched, question("north", "first"))[1]
    with pytest.raises(GenerationError) as refused:
        save(launched, StateChoice(OWN, "first"), "large")
    assert refused.value.code == "state_disk_full"
    count, again = cached(launched, question("north", "first"))
    assert (count > 100, again) == (True, text)
