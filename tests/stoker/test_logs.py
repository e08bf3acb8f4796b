"""`stoker logs`: the logs of processes from their files, and those of engines through the API."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from stoker.cli import cli
from stoker.client import ApiClient
from stoker.following import Reconnecting
from stoker.logs import ProcessLog, engine_lines, process_lines

LOG = "/v1/admin/models/m/log"


def line(id: str, text: str, **more: Any) -> dict[str, Any]:
    origin = {"replica": "m#1.0", "worker": "cpu0", "operation_id": "load_1"}
    return {"id": id, "at": 0.0, **origin, "text": text, "omitted_bytes": 0} | more


def page(*lines: dict[str, Any], **more: Any) -> tuple[int, dict[str, Any]]:
    last = lines[-1]["id"] if lines else None
    return 200, {"data": list(lines), "has_more": False, "has_gap": False, "last_id": last} | more


class Stopped(Exception):
    """Ends a reader, which goes on for ever."""


class Writer:
    """A process that writes into its log between two readings: it takes a step each time."""

    def __init__(self, *steps: Callable[[], object]) -> None:
        self.steps = list(steps)

    def __call__(self) -> None:
        if not self.steps:
            raise Stopped
        self.steps.pop(0)()


def follow(folder: Path, *steps: Callable[[], object], names: tuple[str, ...] = ()) -> list[tuple[str, str]]:
    """Follow the logs of a folder until the steps are done: pairs of process and line."""
    lines = []
    with suppress(Stopped):
        for each in process_lines(folder, names, 2, follow=True, wait=Writer(*steps)):
            lines.append((each["process"], each["text"]))
    return lines


def append(path: Path, data: str) -> Callable[[], object]:
    def write() -> None:
        with path.open("a") as file:
            file.write(data)

    return write


def test_the_last_lines_of_each_process_are_followed_by_those_that_come(tmp_path: Path) -> None:
    (tmp_path / "api.log").write_text("1\n2\n3\n")
    (tmp_path / "redis.log").write_text("a\n")
    steps = (append(tmp_path / "api.log", "4\n"), append(tmp_path / "flower.log", "new\n"))
    assert follow(tmp_path, *steps) == [
        ("api", "2"),
        ("api", "3"),
        ("redis", "a"),
        ("api", "4"),
        ("flower", "new"),
    ]


def test_only_the_named_processes_are_followed(tmp_path: Path) -> None:
    (tmp_path / "api.log").write_text("1\n")
    (tmp_path / "redis.log").write_text("a\n")
    steps = (append(tmp_path / "api.log", "2\n"), append(tmp_path / "redis.log", "b\n"))
    assert follow(tmp_path, *steps, names=("redis",)) == [("redis", "a"), ("redis", "b")]


def test_half_a_line_is_shown_when_it_is_whole(tmp_path: Path) -> None:
    log = tmp_path / "api.log"
    log.write_text("1\nha")
    assert follow(tmp_path, append(log, "l"), append(log, "f\n")) == [("api", "1"), ("api", "half")]


def test_a_log_that_was_rotated_begins_again(tmp_path: Path) -> None:
    log = tmp_path / "api.log"
    log.write_text("a long line\nhalf of")
    steps = (lambda: log.write_text("first\n"), append(log, "second\n"))
    assert follow(tmp_path, *steps) == [("api", "a long line"), ("api", "first"), ("api", "second")]


def test_of_a_large_log_only_the_end_is_read(tmp_path: Path) -> None:
    log = tmp_path / "api.log"
    log.write_bytes(b"x" * (3 << 20) + b"\nlast \xff\n")
    assert ProcessLog(log).last_lines(100) == ["last \N{REPLACEMENT CHARACTER}"]


def test_the_processes_are_shown_with_their_names(run: Any, tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "api.log").write_text("one\n\x1b[2Jtwo\n")
    (tmp_path / "logs" / "worker-cpu0.log").write_text("three\n")
    shown = "api         | one\napi         | [2Jtwo\nworker-cpu0 | three\n"
    assert run("logs") == (0, shown)
    assert run("logs", "--process", "api", "-n", "1") == (0, "api | [2Jtwo\n")
    code, output = run("logs", "--json", "--process", "worker-cpu0")
    assert (code, json.loads(output)) == (0, {"process": "worker-cpu0", "text": "three"})


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        ((), 1, "has no logs of processes: `"),
        (("m", "--process", "api"), 2, "give a MODEL or --process, not both"),
        (("--replica", "r"), 2, "--replica and --operation need a model"),
        (("m", "--lines", "0"), 2, "0 is not in the range 1<=x<=1000"),
    ],
)
def test_a_wrong_command_is_one_sentence(run: Any, words: tuple[str, ...], code: int, message: str) -> None:
    ended, output = run("logs", *words)
    assert ended == code
    assert message in output


def test_the_log_of_engines_is_shown_with_times_and_replicas(api: Any, run: Any) -> None:
    left_out = line("2-0", "", omitted_bytes=7)
    api.answers = {f"{LOG}?limit=100": [page(line("1-0", "loading"), left_out)]}
    code, output = run("logs", "m")
    assert code == 0
    assert [text.split(" ", 1)[1] for text in output.splitlines()] == [
        "m#1.0 | loading",
        "m#1.0 | (7 bytes are left out here)",
    ]
    code, output = run("logs", "m", "--json")
    assert [json.loads(text) for text in output.splitlines()] == [line("1-0", "loading"), left_out]


def test_the_filters_are_sent(api: Any, run: Any) -> None:
    api.answers = {f"{LOG}?replica=m%231.0&operation=load_1&limit=5": [page(line("1-0", "loading"))]}
    code, output = run("logs", "m", "--replica", "m#1.0", "--operation", "load_1", "-n", "5")
    assert code == 0
    assert output.endswith("| loading\n")


def test_an_empty_log_is_explained_on_stderr(api: Any, tmp_path: Path) -> None:
    api.answers = {f"{LOG}?limit=100": [page()]}
    environment = {"STOKER_DATA_DIR": str(tmp_path), "STOKER_ADMIN_KEY": "sk-admin", "STOKER_URL": api.url}
    result = CliRunner().invoke(cli, ["logs", "m"], env=environment)
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr == "nothing is kept of what engines of m printed in the last day\n"


def followed(api: Any, monkeypatch: pytest.MonkeyPatch, count: int) -> list[str]:
    """The first lines of a log that is followed without pauses."""
    monkeypatch.setattr("stoker.logs.pause", lambda: None)
    lines = engine_lines(Reconnecting(lambda: ApiClient(api.url, None)), "m", {}, 100, follow=True)
    return [next(lines)["text"] for _ in range(count)]


def test_a_log_is_followed_while_the_api_is_away(
    api: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    away = (503, {"error": {"message": "Redis is away", "code": "storage_unavailable"}})
    api.answers = {
        f"{LOG}?limit=100": [page(line("1-0", "one"))],
        f"{LOG}?limit=1000&after=1-0": [page(), (502, b"<html>"), away, page(line("2-0", "two"))],
        f"{LOG}?limit=1000&after=2-0": [page(line("3-0", "three"))],
    }
    assert followed(api, monkeypatch, 3) == ["one", "two", "three"]
    assert capsys.readouterr().err.splitlines() == [
        f"the API at {api.url} does not answer; trying again until it does, Ctrl-C ends",
        f"the API at {api.url} answers again",
    ]


def test_missing_lines_are_noted_but_not_before_the_first_line(
    api: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    api.answers = {
        f"{LOG}?limit=100": [page()],
        f"{LOG}?limit=1000&after=0-0": [page(line("5-0", "five"), has_gap=True)],
        f"{LOG}?limit=1000&after=5-0": [page(line("9-0", "nine"), has_gap=True)],
    }
    assert followed(api, monkeypatch, 2) == ["five", "nine"]
    assert capsys.readouterr().err.splitlines() == [
        "nothing is kept of what engines of m printed in the last day",
        "lines may be missing here: the platform keeps the latest 2,000 of a model",
    ]


def test_an_error_that_no_restart_ends_is_an_error_while_a_log_is_followed(api: Any, run: Any) -> None:
    gone = (404, {"error": {"message": "m is gone", "code": "unknown_model"}})
    api.answers = {
        f"{LOG}?limit=100": [page(line("1-0", "one"))],
        f"{LOG}?limit=1000&after=1-0": [gone],
        "/v1/admin/models": [(200, {"models": []})],
    }
    code, output = run("logs", "-f", "m")
    assert code == 5
    assert "m is gone (unknown_model)" in output
