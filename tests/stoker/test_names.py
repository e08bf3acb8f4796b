"""Names that a shell completes, and the nearest one in the message about an unknown name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from click.shell_completion import ShellComplete, get_completion_class

from config.commands import program
from config.ports import free_port
from stoker.cli import cli

MODELS = [{"name": "org/one", "registered": True}, {"name": "org/two"}, {"name": "x"}]


@pytest.fixture
def complete(api: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The words that complete the last one of a command line."""
    monkeypatch.setenv("STOKER_DATA_DIR", str(tmp_path))
    monkeypatch.setenv("STOKER_ADMIN_KEY", "sk-admin")
    monkeypatch.setenv("STOKER_API_KEY", "sk-me")
    monkeypatch.setenv("STOKER_URL", api.url)
    api.answers = {
        "/v1/admin/models": [(200, {"models": MODELS, "unreadable": [{"name": "old"}]})],
        "/v1/models": [(200, {"data": [{"id": "served"}]})],
        "/v1/admin/workers": [(200, {"data": [{"name": "gpu0"}, {"name": "gpu1"}]})],
        "/v1/admin/tenants?limit=1000": [(200, {"data": [{"name": "acme"}]})],
        "/v1/admin/keys?limit=1000": [(200, {"data": [{"id": "key_1"}, {"id": "key_2"}]})],
        "/v1/admin/operations?limit=100": [(200, {"data": [{"id": "load_1"}]})],
        "/v1/admin/requests?limit=100": [(200, {"data": [{"id": "resp_9"}]})],
        "/v1/admin/jobs": [(200, {"data": [{"id": "resp_1"}]})],
        "/v1/governance/proposals?limit=100": [(200, {"data": [{"id": "prop_1"}]})],
    }

    def complete(*words: str) -> list[str]:
        completion = ShellComplete(cli, {}, "stoker", "_STOKER_COMPLETE")
        return [item.value for item in completion.get_completions(list(words[:-1]), words[-1])]

    return complete


@pytest.mark.parametrize(
    ("words", "names"),
    [
        (("load", "org/"), ["org/one", "org/two"]),
        (("load", "x", "--evict", ""), ["org/one", "org/two", "x"]),
        (("models", "show", "org/t"), ["org/two"]),
        (("logs", "x"), ["x"]),
        (("logs", "x", "--operation", ""), ["load_1"]),
        (("ask", "hi", "--model", ""), ["served"]),
        (("run", ""), ["served"]),
        (("drain", "gpu"), ["gpu0", "gpu1"]),
        (("usage", "--tenant", ""), ["acme"]),
        (("keys", "create", "a"), ["acme"]),
        (("keys", "revoke", "key_1", "key_"), ["key_1", "key_2"]),
        (("queue", "cancel", ""), ["resp_1"]),
        (("requests", ""), ["resp_9"]),
        (("models", "remove", ""), ["org/one", "old"]),
        (("op", "show", ""), ["prop_1"]),
        (("runtimes", "install", "llama_s"), ["llama_server"]),
        (("status", "--w"), ["--watch"]),
        (("sta",), ["status"]),
    ],
)
def test_a_shell_completes_what_the_platform_has(
    complete: Any, words: tuple[str, ...], names: list[str]
) -> None:
    assert complete(*words) == names


def test_a_shell_completes_the_processes_that_have_a_log(complete: Any, tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    for name in ("api", "worker-cpu0"):
        (tmp_path / "logs" / f"{name}.log").touch()
    assert complete("logs", "--process", "") == ["api", "worker-cpu0"]


@pytest.mark.usefixtures("complete")
@pytest.mark.parametrize(
    ("shell", "words", "lines"),
    [
        ("bash", ("stoker load org/", "2"), ["plain,org/one", "plain,org/two"]),
        ("zsh", ("stoker load org/", "2"), ["plain", "org/one", "_", "plain", "org/two", "_"]),
        ("fish", ("stoker load org/", "org/"), ["plain,org/one", "plain,org/two"]),
    ],
)
def test_the_script_of_a_shell_gets_the_names_in_the_form_that_it_reads(
    monkeypatch: pytest.MonkeyPatch, shell: str, words: tuple[str, str], lines: list[str]
) -> None:
    for name, value in zip(("COMP_WORDS", "COMP_CWORD"), words, strict=True):
        monkeypatch.setenv(name, value)
    kind = get_completion_class(shell)
    assert kind is not None
    completion = kind(cli, {}, "stoker", "_STOKER_COMPLETE")
    assert completion.complete().splitlines() == lines
    assert f"_STOKER_COMPLETE={shell}_complete" in completion.source()


@pytest.mark.parametrize(
    "problem",
    ["no API", "a wrong key", "another server", "a wrong configuration"],
)
def test_a_completion_is_empty_and_silent_without_an_answer(
    complete: Any, api: Any, problem: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    if problem == "no API":
        monkeypatch.setenv("STOKER_URL", f"http://127.0.0.1:{free_port('127.0.0.1', 0)}")
    elif problem == "a wrong configuration":
        monkeypatch.setenv("STOKER_API__PORT", "x")
    else:
        refused = (401, {"error": {"message": "no", "code": "invalid_api_key"}})
        api.answers["/v1/admin/models"] = [refused if problem == "a wrong key" else (200, {"models": [3]})]
    assert complete("load", "") == []
    assert capfd.readouterr() == ("", "")


def test_a_completion_asks_the_address_of_the_command_line(
    complete: Any, api: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("STOKER_URL")
    assert complete("load", "--url", api.url, "org/o") == ["org/one"]


def forget(api: Any, path: str) -> None:
    """Answer this path, which has an unknown name, with 404."""
    api.answers[path] = [(404, {"error": {"message": "it is unknown", "code": "not_found"}})]


@pytest.mark.parametrize(
    ("words", "path", "hint"),
    [
        (("load", "org/onne"), "/v1/admin/models/org/onne/load", "did you mean org/one?"),
        (("unload", "zzz"), "/v1/admin/models/zzz/unload", f"`{program()} status` lists the models"),
        (("drain", "gup0"), "/v1/admin/workers/gup0/drain", "did you mean gpu0?"),
        (("keys", "create", "acmee"), "/v1/admin/keys", "did you mean acme?"),
        (("keys", "revoke", "kye_1"), "DELETE /v1/admin/keys/kye_1", "did you mean key_1?"),
        (("keys", "list", "--tenant", "acne"), "/v1/admin/tenants/acne", "did you mean acme?"),
        (
            ("queue", "cancel", "nope"),
            "DELETE /v1/admin/queue/nope",
            f"`{program()} queue` shows each tenant's oldest request",
        ),
        (("requests", "resp_x"), "/v1/admin/requests/resp_x", "did you mean resp_9?"),
        (("requests", "nope"), "/v1/admin/requests/nope", f"`{program()} requests` lists the latest"),
        (("op", "show", "prop_2"), "/v1/governance/proposals/prop_2", "did you mean prop_1?"),
        (("models", "remove", "org/twoo"), "DELETE /v1/admin/models/org/twoo", "did you mean org/one?"),
    ],
)
@pytest.mark.usefixtures("complete")
def test_an_unknown_name_is_answered_with_the_nearest_one(
    api: Any, run: Any, words: tuple[str, ...], path: str, hint: str
) -> None:
    forget(api, path)
    api.answers |= {
        "/v1/admin/keys?limit=1000&tenant=acne": [(200, {"data": []})],
        "/v1/admin/operations?kind=download&status=open": [(200, {"data": []})],
    }
    code, output = run(*words)
    assert code == 5
    assert output == f"it is unknown (not_found); {hint}\n"


@pytest.mark.usefixtures("complete")
def test_the_name_that_exists_is_not_suggested_for_another_that_does_not(api: Any, run: Any) -> None:
    forget(api, "/v1/admin/models/x/load")
    assert run("load", "x", "--evict", "org/onne")[1].endswith("; did you mean org/one?\n")


@pytest.mark.usefixtures("complete")
def test_a_process_that_is_given_as_a_model_is_shown_with_its_command(
    api: Any, run: Any, tmp_path: Path
) -> None:
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "api.log").touch()
    forget(api, "/v1/admin/models/api/log?limit=100")
    code, output = run("logs", "api")
    assert code == 2
    assert f"there is no model api; `{program()} logs --process api` shows the log of this process" in output


def test_an_unknown_process_is_answered_with_the_nearest_one(run: Any, tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "api.log").write_text("line\n")
    assert "no process apo has a log here; did you mean api?" in run("logs", "--process", "apo")[1]
