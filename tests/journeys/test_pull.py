"""From nothing to a chat with a model of a hub: `stoker run` and `stoker pull` in a real terminal."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from config.commands import program
from config.settings import ROOT
from stoker import names
from stoker.cli import cli
from tests.support.hub_server import HubServer, Repository
from tests.support.platform import Platform, running_platform
from tests.support.typing_person import CTRL_C, CTRL_D, TypingPerson, person_at
from tests.support.waiting import scaled

pytestmark = [pytest.mark.journey, pytest.mark.slow]

SOURCE = "acme/demo-GGUF:Q8_0"
NAME = "demo-Q8_0"
SUM = "What is 3+4?"


@pytest.fixture(scope="module")
def hub() -> Iterator[HubServer]:
    demo = (ROOT / "models/stoker-demo.gguf").read_bytes()
    names = ("acme/demo-GGUF", "acme/held-GGUF", "acme/other-GGUF")
    with HubServer({name: Repository({"demo-Q8_0.gguf": demo}) for name in names}) as server:
        yield server


class Newcomer:
    """A platform without models, and the commands of a person who has just started it."""

    def __init__(self, platform: Platform, start_s: float) -> None:
        self.platform, self.start_s = platform, start_s

    def terminal(self, *words: str) -> AbstractContextManager[TypingPerson]:
        return person_at(
            sys.executable, "-m", "stoker", *words, cwd=ROOT, environment=self.platform.environment
        )

    def piped(self, *words: str) -> tuple[int, str]:
        """Run a command without a terminal, in this process: its exit code and all of its output."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(names, "LOOK_UP_S", scaled(10))  # the API of a busy machine may be slow
            done = CliRunner().invoke(cli, words, env=self.platform.environment)
        assert done.exception is None or isinstance(done.exception, SystemExit)
        return done.exit_code, done.output

    def names(self) -> set[str]:
        _, answer = self.platform.admin("GET", "/v1/admin/models")
        return {row["name"] for row in answer["models"]}


@pytest.fixture(scope="module")
def newcomer(tmp_path_factory: pytest.TempPathFactory, hub: HubServer) -> Iterator[Newcomer]:
    folder = tmp_path_factory.mktemp("pull")
    local: dict[str, Any] = {
        "hub": {"keep_free_mib": 0},
        "models": {"stub": {"enabled": False}, "stoker-demo": {"enabled": False}},
    }
    environment = {"CUDA_VISIBLE_DEVICES": "", "HF_ENDPOINT": hub.url, "HF_HOME": str(folder / "hf")}
    began = time.monotonic()
    with running_platform(
        folder / "up", local, "--port", "0", "--no-flower", environment=environment
    ) as platform:
        start_s = time.monotonic() - began
        platform.wait_for(lambda: platform.worker("cpu0").get("memory"), 10, "memory of the worker")
        yield Newcomer(platform, start_s)


def test_one_command_leads_from_nothing_to_the_first_token(
    newcomer: Newcomer, hub: HubServer, capsys: pytest.CaptureFixture[str]
) -> None:
    began = time.monotonic()
    with newcomer.terminal("run", SOURCE) as person:
        shown = person.wait_for("and add it? [Y/n] ")
        assert "demo-Q8_0.gguf" in shown
        assert "\nIt fits: it needs about " in shown
        person.type("\n")
        person.wait_for(">>> ", 60)
        person.type(f"{SUM}\n")
        person.wait_for("3+4=7")
        took = time.monotonic() - began
        person.wait_for(">>> ", times=2)
        person.type(CTRL_D)
        assert person.exit_code() == 0
    with capsys.disabled():
        start = f"the start took {newcomer.start_s:.1f} s"
        print(f"\n{start}; `stoker run {SOURCE}` took {took:.1f} s to the first answer")

    assert newcomer.platform.model(NAME)["registered"]
    requests = len(hub.sent)
    assert newcomer.piped("run", SOURCE, SUM) == (0, "3+4=7\n")
    assert newcomer.piped("run", NAME, SUM) == (0, "3+4=7\n")
    assert len(hub.sent) == requests, "the hub is not asked again"


def test_a_model_that_is_there_is_shown_and_not_added_again(newcomer: Newcomer) -> None:
    assert newcomer.piped("pull", SOURCE)[1] in ("", f"{NAME} is there already\n")
    code, output = newcomer.piped("models", "show", NAME)
    assert code == 0
    assert "repository  acme/demo-GGUF" in output
    assert NAME in newcomer.piped("models", "list")[1]
    assert newcomer.piped("models", "show", "demo-Q8") == (
        5,
        f"model 'demo-Q8' is not configured (unknown_model); did you mean {NAME}?\n",
    )


def test_a_download_is_left_running_followed_again_cancelled_and_continued(
    newcomer: Newcomer, hub: HubServer
) -> None:
    hub.hold, hub.hold_after = threading.Event(), 256 * 1024
    pull = ("pull", "acme/held-GGUF", "--name", "held")
    try:
        with newcomer.terminal(*pull, "--yes") as person:
            person.wait_for("held: downloading ")
            person.type(CTRL_C)
            person.wait_for("Cancel the download (c), or leave it running (Enter)? ")
            person.type("\n")
            shown = person.wait_for("the download continues; ")
            assert f"`{program()} pull acme/held-GGUF --name held` follows it again" in shown
            assert person.exit_code() == 130
        with newcomer.terminal(*pull, "--yes") as person:
            person.wait_for("held: downloading ")
            person.type(CTRL_C)
            person.wait_for("Cancel the download (c)")
            person.type("c\n")
            person.wait_for("held: the download was cancelled; ")
            assert person.exit_code() == 130
        assert "held" not in newcomer.names()
    finally:
        hub.hold.set()
        hub.hold = None

    hub.sent.clear()
    code, output = newcomer.piped(*pull)
    assert (code, output.splitlines()[-1].startswith("held: added")) == (0, True), output
    assert newcomer.piped("models", "remove", "held")[0] == 0
    assert "held" not in newcomer.names()


def test_models_remove_cancels_a_download(newcomer: Newcomer, hub: HubServer) -> None:
    hub.hold, hub.hold_after = threading.Event(), 256 * 1024
    try:
        with newcomer.terminal("pull", "acme/other-GGUF", "--name", "other", "--yes") as person:
            person.wait_for("other: downloading ")
            assert newcomer.piped("models", "remove", "other") == (0, "other: the download was cancelled\n")
            person.wait_for("other: the download was cancelled")
            assert person.exit_code() == 1
    finally:
        hub.hold.set()
        hub.hold = None
    code, output = newcomer.piped("models", "remove", "other")
    assert (code, len(output.splitlines())) == (5, 1)


def test_a_file_of_this_machine_is_linked_until_its_model_is_removed(
    newcomer: Newcomer, tmp_path: Path
) -> None:
    file = tmp_path / "weights" / "mine.gguf"
    file.parent.mkdir()
    file.write_bytes((ROOT / "models/stoker-demo.gguf").read_bytes())
    link = newcomer.platform.folder / "data" / "models" / "weights"

    code, output = newcomer.piped("run", str(file), SUM)
    assert (code, output.splitlines()[-1]) == (0, "3+4=7"), output
    assert link.readlink() == file.parent

    assert newcomer.piped("unload", "mine")[0] == 0
    code, output = newcomer.piped("models", "remove", "mine")
    assert code == 0, output
    assert not link.is_symlink()
    assert file.exists()


@pytest.mark.parametrize(
    ("words", "exit_code", "sentence"),
    [
        (["acme/nothing-GGUF"], 5, "acme/nothing-GGUF"),
        (["acme/demo-GGUF:Q2_K"], 5, "Q8_0"),
        (["acme/demo-GGUF", "--set", "llama_server_n_ctx=much"], 2, "llama_server_n_ctx"),
    ],
)
def test_a_source_that_cannot_be_added_is_one_sentence(
    newcomer: Newcomer, words: list[str], exit_code: int, sentence: str
) -> None:
    code, output = newcomer.piped("pull", *words)
    assert code == exit_code
    assert sentence in output
    assert len(output.splitlines()) == 1
