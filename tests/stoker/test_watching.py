"""`--watch`, with that of `stoker status`: the changes in a pipe, and the drawing on a terminal."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest

from stoker.client import ApiClient
from stoker.model_commands import WATCHED_MODELS
from stoker.watching import CLEAR_BELOW, CLEAR_LINE_END, CLEAR_SCREEN, Drawing, watch


def row(name: str, state: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "runtime_state": state, "replicas": 1} | more


class Ended(Exception):
    """Ends a watch, which goes on for ever."""


def watched(api: Any, monkeypatch: pytest.MonkeyPatch, *listed: Any) -> None:
    """Watch while the API lists this, one after the other."""
    rest = [answer if isinstance(answer, tuple) else (200, {"models": answer}) for answer in listed]
    count = len(rest)
    api.answers = {"/v1/admin/models": rest}

    def pause() -> None:
        nonlocal count
        count -= 1
        if not count:
            raise Ended

    monkeypatch.setattr("stoker.watching.pause", pause)
    with pytest.raises(Ended):
        watch(lambda: ApiClient(api.url, None), WATCHED_MODELS)


def test_each_change_is_a_block_when_the_output_is_piped(
    api: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    restart = {"last_error": "killed", "restart_at": 4e9}
    watched(
        api,
        monkeypatch,
        [row("m", "loaded")],
        [row("m", "loaded")],
        (503, {"error": {"message": "no", "code": "storage_unavailable"}}),
        [row("m", "failed", **restart)],
        [row("m", "failed", **restart)],
        [row("m", "loaded")],
    )
    blocks = capsys.readouterr().out.split("\n\n")
    assert [[line.split()[:2] for line in block.splitlines()[2:3]] for block in blocks] == [
        [["m", "loaded"]],
        [["m", "failed"]],
        [["m", "loaded"]],
        [],
    ]
    assert "  killed; it is started again in " in blocks[1]


def test_each_change_is_a_line_of_json_when_asked(
    api: Any, run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stoker.watching.pause", lambda: None)
    first, second = [row("m", "loaded")], [row("m", "loaded", last_load=None)]  # the table has no such field
    error = (403, {"error": {"message": "the key was revoked", "code": "invalid_api_key"}})
    api.answers = {
        "/v1/admin/models": [(200, {"models": models}) for models in (first, first, second)] + [error]
    }
    code, output = run("status", "--watch", "--json")
    lines = [json.loads(line) for line in output.splitlines()]
    assert (code, lines[:2]) == (4, [first, second])
    assert lines[2]["error"]["code"] == "invalid_api_key"


def drawn(capsys: pytest.CaptureFixture[str], drawing: Drawing, *lines: str) -> str:
    drawing.draw(lines)
    return capsys.readouterr().out


@pytest.fixture
def resize(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Set the size of the terminal."""

    def resize(columns: int, lines: int) -> None:
        monkeypatch.setattr("shutil.get_terminal_size", lambda: os.terminal_size((columns, lines)))

    return resize


def test_the_lines_replace_those_before(capsys: pytest.CaptureFixture[str], resize: Any) -> None:
    resize(80, 24)
    drawing = Drawing()
    assert drawn(capsys, drawing, "a", "b") == f"a{CLEAR_LINE_END}\nb{CLEAR_LINE_END}\n{CLEAR_BELOW}"
    assert drawn(capsys, drawing, "c") == f"\x1b[2A\rc{CLEAR_LINE_END}\n{CLEAR_BELOW}"
    assert drawn(capsys, drawing, "d").startswith("\x1b[1A\r")


def test_the_lines_are_cut_to_the_size_of_the_terminal(
    capsys: pytest.CaptureFixture[str], resize: Any
) -> None:
    resize(10, 4)
    shown = drawn(capsys, Drawing(), "0123456789abc", "\x1b[2Jx", "c", "d", "e")
    assert shown.replace(CLEAR_LINE_END, "").removesuffix(CLEAR_BELOW).splitlines() == [
        "012345678",
        "[2Jx",
        "3 more li",
    ]


def test_a_line_is_cut_to_the_columns_of_its_wide_characters(
    capsys: pytest.CaptureFixture[str], resize: Any
) -> None:
    resize(8, 4)
    shown = drawn(capsys, Drawing(), "模型模型", "e\u0301e\u0301")
    assert shown.replace(CLEAR_LINE_END, "").removesuffix(CLEAR_BELOW).splitlines() == [
        "模型模 ",  # the half of a character that does not fit is a space
        "e\u0301e\u0301",
    ]


@pytest.mark.parametrize("size", [(1, 1), (2, 2)])
def test_a_terminal_without_room_is_no_error(
    capsys: pytest.CaptureFixture[str], resize: Any, size: tuple[int, int]
) -> None:
    resize(*size)
    assert drawn(capsys, Drawing(), "abc", "def").count("\n") == 1


def test_the_screen_is_cleared_after_its_size_has_changed(
    capsys: pytest.CaptureFixture[str], resize: Any
) -> None:
    resize(80, 24)
    drawing = Drawing()
    drawn(capsys, drawing, "a")
    resize(40, 24)
    assert drawn(capsys, drawing, "a").startswith(CLEAR_SCREEN)
