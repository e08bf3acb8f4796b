"""Fixtures that start engines, record their output and stop them."""

from __future__ import annotations

import asyncio
import os
import select
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from queue import SimpleQueue

import pytest

from backends.base import CancellationToken, Engine, Finish, Launch
from backends.registry import adapter
from config.load import load_settings
from config.settings import ROOT, ModelDefinition
from engines.engine_process.errors import Exit
from fleet.flush import FlushCount
from generation.generation import Generation, Message, Sampling, text_content
from streams.events import Delta, ReasoningDelta, ScoredTextDelta, TextDelta, TokenLogprob
from tests.support.generations import engine_loop, on_loop, run_generation, submit
from tests.support.waiting import scaled

pytest.register_assert_rewrite(
    "tests.backends.contract",
    "tests.backends.contract_cache",
    "tests.backends.contract_control",
    "tests.backends.contract_embedding",
    "tests.backends.contract_local",
    "tests.backends.contract_lora",
    "tests.backends.contract_models",
    "tests.backends.contract_rerank",
    "tests.backends.contract_sampling",
    "tests.backends.contract_truncation",
)


def pytest_configure(config: pytest.Config) -> None:
    """Print the table of measurements at the end."""
    from tests.backends import measurements

    config.pluginmanager.register(measurements, "measurements")


NATIVE = "STOKER_TEST_LLAMA_SERVER"
"""The environment variable with the path of a native llama-server, if there is one."""
DEMO_MODEL = ROOT / "models" / "stoker-demo.gguf"


NAMESPACE = "0" * 32
"""The cache namespace of all requests that name no other."""


def ask(text: str, **overrides: object) -> Generation:
    """Return a request with one message that may be sent to remote models, in the namespace NAMESPACE.

    `overrides` are fields of `Sampling` or `Generation`.
    """
    sampling = {
        name: overrides.pop(name) for name in list(overrides) if name in Sampling.__dataclass_fields__
    }
    overrides = {"allow_remote": True, "cache_namespace": NAMESPACE, **overrides}
    return Generation("model", (Message("user", text_content(text)),), Sampling(**sampling), **overrides)


@dataclass
class Answer:
    """The output of one generation, with the times of its deltas (time.monotonic)."""

    deltas: list[Delta] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    first_delta: threading.Event = field(default_factory=threading.Event)
    finish: Finish | None = None
    error: Exception | None = None

    def emit(self, delta: Delta) -> None:
        self.deltas.append(delta)
        self.times.append(time.monotonic())
        self.first_delta.set()

    @property
    def text(self) -> str:
        return "".join(d.text for d in self.deltas if isinstance(d, TextDelta | ScoredTextDelta))

    @property
    def tokens(self) -> list[TokenLogprob]:
        """The tokens whose log probabilities came with the text."""
        return [token for d in self.deltas if isinstance(d, ScoredTextDelta) for token in d.tokens]

    @property
    def reasoning(self) -> str:
        return "".join(delta.text for delta in self.deltas if isinstance(delta, ReasoningDelta))


@dataclass
class Launched:
    """A loaded engine, with its recorded exits and progress."""

    engine: Engine
    exits: SimpleQueue[Exit]
    progress: list[tuple[float, str]]
    directory: Path

    def answer(self, generation: Generation, id: str = "only") -> Answer:
        """Run a generation to its end in this thread; errors are raised."""
        answer = Answer()
        answer.finish = run_generation(self.engine, id, generation, answer.emit)
        return answer

    def begin(self, generation: Generation, id: str = "only") -> tuple[Answer, threading.Thread]:
        """Submit a generation. A new thread waits for its end; an error is stored in the answer."""
        answer = Answer()
        sink = submit(self.engine, id, generation, answer.emit)

        def run() -> None:
            try:
                answer.finish = sink.result()
            except Exception as error:
                answer.error = error

        thread = threading.Thread(target=run)
        thread.start()
        return answer, thread

    def cancel(self, id: str) -> None:
        """Cancel a generation."""
        on_loop(self.engine.cancel, id)

    def flush(self, *kept: Generation) -> FlushCount:
        """Drop what is cached, except for the namespaces of these requests."""
        names = {request.cache_namespace or "" for request in kept}
        return asyncio.run_coroutine_threadsafe(self.engine.flush(names), engine_loop()).result(scaled(30))


Start = Callable[..., Launched]


class Launcher:
    """Starts engines, and stops all that still run at the end."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._environments = load_settings().runtimes_dir  # where `make test-runtimes` installs them
        self._launched: list[Launched] = []

    def __call__(
        self,
        model: ModelDefinition,
        slots: int = 2,
        *,
        replica: str = "model-0",
        progress: Callable[[float, str], None] = lambda _done, _stage: None,
        cancellation: CancellationToken | None = None,
        states: Path | None = None,
        files: Path | None = None,
    ) -> Launched:
        exits: SimpleQueue[Exit] = SimpleQueue()
        reported: list[tuple[float, str]] = []
        directory = self._directory / f"{replica}-{len(self._launched)}"

        def report(done: float, stage: str) -> None:
            reported.append((done, stage))
            progress(done, stage)

        launch = Launch(
            model,
            replica,
            slots,
            directory,
            self._environments,
            report,
            exits.put,
            engine_loop(),
            cancellation=cancellation or CancellationToken(),
            states=states,
            files=files,
        )
        launched = Launched(adapter(model.backend).start(launch), exits, reported, directory)
        self._launched.append(launched)
        return launched

    def stop_all(self) -> None:
        for launched in self._launched:
            launched.engine.stop(1.0)


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    launcher = Launcher(tmp_path)
    yield launcher
    launcher.stop_all()


@pytest.fixture(scope="class")
def shared(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Launched]:
    """One engine with four slots, for all tests of a contract that do not damage it."""
    launcher = Launcher(tmp_path_factory.mktemp("shared"))
    yield launcher(request.cls().model(), slots=4)
    launcher.stop_all()


@pytest.fixture(scope="class")
def engine_with_loras(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Launched]:
    """One engine with four slots and the LoRA adapters of `LoraContract`."""
    folder = tmp_path_factory.mktemp("loras")
    launcher = Launcher(folder)
    yield launcher(request.cls().model_with_loras(folder), slots=4)
    launcher.stop_all()


def has_ended(pid: int, timeout_s: float) -> bool:
    """Wait for the end of any process (a zombie has ended)."""
    try:
        fd = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        poll = select.poll()
        poll.register(fd, select.POLLIN)
        return bool(poll.poll(timeout_s * 1000))
    finally:
        os.close(fd)
