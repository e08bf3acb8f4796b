"""`stoker logs -f`, `stoker status --watch` and completion at a running platform whose API is killed."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from config.settings import ROOT
from tests.journeys.conftest import ON_THE_CPU
from tests.support.freezing import freeze
from tests.support.platform import Platform, running_platform
from tests.support.typing_person import CTRL_C, TypingPerson, person_at
from tests.support.waiting import scaled

pytestmark = [pytest.mark.journey, pytest.mark.slow]

MODELS = {
    "loud": {"backend": "stub", "stub_print": "reading the weights"},
    "broken": {"backend": "stub", "stub_print": "out of luck", "stub_load_fail": "no such weights"},
    "stub": {"enabled": False},
    "stoker-demo": {"enabled": False},
}
AWAY, BACK = "does not answer; trying again until it does, Ctrl-C ends", "answers again"


@pytest.fixture(scope="module")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    folder = tmp_path_factory.mktemp("cli")
    with running_platform(
        folder / "up", {"models": MODELS}, "--port", "0", "--no-flower", environment=ON_THE_CPU
    ) as platform:
        platform.wait_for(lambda: platform.worker("cpu0").get("memory"), 10, "memory of the worker")
        yield platform


def terminal(platform: Platform, *words: str, **environment: str) -> AbstractContextManager[TypingPerson]:
    return person_at(
        sys.executable, "-m", "stoker", *words, cwd=ROOT, environment=platform.environment | environment
    )


@contextmanager
def without_api(platform: Platform) -> Iterator[None]:
    """Kill the API; the supervisor, which starts it again, is frozen until the end of the block."""
    supervisor = platform.process.pid
    freeze(supervisor)
    try:
        before = platform.kill_part("stoker api")
        yield
    finally:
        os.kill(supervisor, signal.SIGCONT)
    platform.wait_for(lambda: set(platform.pids("stoker api")) - set(before), 20, "another API")


@pytest.fixture(scope="module")
def patient(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program that is `stoker`, and waits longer for the names that it looks up: the API may be slow."""
    program = tmp_path_factory.mktemp("program") / "stoker"
    program.write_text(
        f"#!{sys.executable}\nimport sys\nsys.path.insert(0, {str(ROOT)!r})\n"
        f"from stoker import cli, names\nnames.LOOK_UP_S = {scaled(10)}\ncli.main()\n"
    )
    program.chmod(0o755)
    return program


def test_a_log_and_the_states_are_followed_over_a_restart_of_the_api(platform: Platform) -> None:
    assert platform.stoker("load", "loud").returncode == 0
    with (
        terminal(platform, "logs", "-f", "loud", NO_COLOR="1") as reader,
        terminal(platform, "status", "--watch") as watcher,
    ):
        shown = reader.wait_for("reading the weights")
        assert " | reading the weights\n" in shown
        watcher.wait_for("loud         loaded    1/1")

        with without_api(platform):
            for person in (reader, watcher):
                person.wait_for(AWAY)
        for person in (reader, watcher):
            person.wait_for(BACK)
        assert platform.stoker("unload", "loud").returncode == 0
        watcher.wait_for("loud         unloaded  0/1")
        assert platform.stoker("load", "loud").returncode == 0
        assert reader.wait_for("reading the weights", times=2).count(AWAY) == 1

        for person in (reader, watcher):
            person.type(CTRL_C)
            assert person.exit_code() == 130
            assert "Traceback" not in person.shown


def test_the_log_of_a_failed_load_is_shown_with_dimmed_origins(platform: Platform) -> None:
    failed = platform.stoker("load", "broken", "--json")
    assert (failed.returncode, failed.stdout) == (1, "")
    assert json.loads(failed.stderr)["error"]["message"].startswith(
        "broken: the load failed: no such weights"
    )
    with terminal(platform, "logs", "broken") as person:
        assert person.exit_code() == 0
        assert "| \x1b[0mout of luck\n" in person.shown
    assert [
        json.loads(line)["text"] for line in platform.stoker("logs", "broken", "--json").stdout.splitlines()
    ] == ["out of luck"]


def test_the_logs_of_the_processes_are_followed(platform: Platform) -> None:
    with terminal(platform, "logs", "--follow", "--lines", "1", NO_COLOR="1") as person:
        person.wait_for("worker-cpu0 | ")
        assert platform.stoker("status").returncode == 0
        person.wait_for("GET /v1/admin/models 200")
        person.type(CTRL_C)
        assert person.exit_code() == 130


def test_a_shell_completes_the_models_of_the_platform(platform: Platform, patient: Path) -> None:
    script = f"""
eval "$({patient} completion bash)"
complete -p stoker
COMP_WORDS=(stoker load l) COMP_CWORD=2
_stoker_completion {patient}
echo "${{COMPREPLY[@]}}"
"""
    ended = subprocess.run(
        [shutil.which("bash") or "bash", "-c", script],
        env=platform.environment,
        capture_output=True,
        text=True,
        timeout=scaled(30),
        check=False,
    )
    assert ended.stdout.splitlines() == ["complete -o nosort -F _stoker_completion stoker", "loud"]
    assert ended.stderr == ""


def test_a_link_to_the_ui_is_printed_which_signs_in_once(platform: Platform) -> None:
    link = platform.stoker("ui").stdout.strip()
    assert link.startswith(f"{platform.url}/ui/sign-in#")
    token = link.partition("#")[2]
    ui = {"X-Stoker-UI": "1", "Sec-Fetch-Site": "same-origin"}
    status, session, _ = platform.request("POST", "/v1/session", {"link": token}, **ui)
    assert (status, "admin" in session["scopes"]) == (201, True)
    status, refused, _ = platform.request("POST", "/v1/session", {"link": token}, **ui)
    assert (status, refused["error"]["code"]) == (401, "link_used")
    assert "stoker ui` for another" in refused["error"]["message"]
    printed = json.loads(platform.stoker("ui", "--json").stdout)
    assert (printed["expires_in_s"], printed["url"].partition("#")[0]) == (300, link.partition("#")[0])


def test_an_unknown_model_is_answered_with_the_nearest_one_of_the_platform(
    platform: Platform, patient: Path
) -> None:
    ended = subprocess.run(
        [patient, "load", "luod"],
        env=platform.environment,
        capture_output=True,
        text=True,
        timeout=scaled(60),
        check=False,
    )
    assert (ended.returncode, ended.stdout) == (5, "")
    assert ended.stderr == "model 'luod' is not configured (unknown_model); did you mean loud?\n"
