"""The loads at the start, followed by the answers of an API."""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import Any

from config.settings import ModelDefinition
from stoker.client import ApiClient
from stoker.initial_loads import InitialLoads
from stoker.terminal import TerminalOutput
from tests.stoker.test_terminal import Terminal

Poll = Mapping[str, str | float]


def show(api: Any, out: io.StringIO, *polls: Poll) -> list[str]:
    """Poll while the API answers with these states, or shares of a load; returns the loaded models."""
    names = list(polls[0])
    api.answers["/v1/admin/models"] = [(200, {"models": list(map(row, poll.items()))}) for poll in polls]
    for name in names:
        shares = [poll[name] for poll in polls if not isinstance(poll[name], str)]
        api.answers[f"/v1/admin/operations/{name}"] = [
            (200, {"kind": "load", "model": name, "progress": share}) for share in shares
        ]
    models = {name: ModelDefinition(name, "stub", enabled=True) for name in names}
    loads = InitialLoads(models, ApiClient(api.url, None), TerminalOutput(out), ignore_failures_s=0)
    ended = [loads.poll() for _ in polls]
    assert not any(ended[:-1])
    return loads.loaded


def row(one: tuple[str, Any]) -> dict[str, Any]:
    name, state = one
    return {
        "name": name,
        "runtime_state": state if isinstance(state, str) else "loading",
        "operation_id": name,
    }


POLLS: tuple[Poll, ...] = (
    {"a": 0.1, "b": 0.5},
    {"a": 0.1, "b": 0.6},
    {"a": "loaded", "b": 0.6},
    {"a": "loaded", "b": "loaded"},
)


def test_a_line_is_written_for_each_change_of_a_load_when_several_load(api: Any) -> None:
    out = io.StringIO()
    assert show(api, out, *POLLS) == ["a", "b"]
    lines = [line[11:] for line in out.getvalue().splitlines()]
    assert lines[:3] == ["a: loading 10 %", "b: loading 50 %", "b: loading 60 %"]
    assert [line.split()[0] for line in lines[3:]] == ["a", "b"]


def test_a_terminal_shows_the_first_load_and_the_number_of_the_others(api: Any) -> None:
    out = Terminal()
    show(api, out, *POLLS)
    shown = [part.strip() for part in out.getvalue().replace("\r\x1b[2K", "\n").splitlines()]
    assert shown[0] == "model    a: loading 10 %; 1 more"
    assert shown[-2] == "model    b: loading 60 %"
    assert shown[-1].startswith("model    b  ")
