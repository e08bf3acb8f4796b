"""Saved states on a whole platform: both engines of llama.cpp, two tenants, hostile names, quotas, deaths."""

from __future__ import annotations

import json
import os
import signal
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from config.load import load_settings
from tests.support.flushes import KEYS, TENANTS, flush
from tests.support.freezing import freeze
from tests.support.platform import Platform, running_platform
from tests.support.process_groups import core_of
from tests.support.waiting import scaled

pytestmark = [pytest.mark.engines, pytest.mark.journey, pytest.mark.timeout(300)]

NAMES = ("llama_cpp", "llama_server")
LOAD_S = 60.0
MAX_FILES = 6
TEXT = "north wind and sun " * 60 + "What is the capital of Norway?"


@pytest.fixture(scope="module")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    """A platform that saves states, with the demo model for each engine that can."""
    shared = {"model_path": "models/stoker-demo.gguf", "prompt_format": "qwen3_template"}
    shared["target_inflight"] = 2
    models: dict[str, dict[str, Any]] = {
        "llama_cpp": {"backend": "llama_cpp", "gguf_n_ctx": 2048, "gguf_threads": 1, **shared},
        "llama_server": {
            "backend": "llama_server",
            "llama_server_n_ctx": 2048,
            "llama_server_threads": 1,
            **shared,
        },
        "pair": {
            "backend": "llama_cpp",
            "gguf_n_ctx": 2048,
            "gguf_threads": 1,
            **shared,
            "replicas": 2,
            "replica_max": 2,
        },
        "stub": {"backend": "stub", "enabled": True},
        "stoker-demo": {"enabled": False},
    }
    folder = tmp_path_factory.mktemp("up")
    environment = {"CUDA_VISIBLE_DEVICES": "", "STOKER_RUNTIMES_DIR": str(load_settings().runtimes_dir)}
    state = {"directory": str(folder / "states"), "max_files_per_tenant": MAX_FILES}
    local = {"state": state, "tenants": TENANTS, "models": models}
    with running_platform(folder, local, "--port", "0", "--no-flower", environment=environment) as platform:
        yield platform


@pytest.fixture(params=NAMES)
def model(request: pytest.FixtureRequest, platform: Platform) -> str:
    """The name of a model that is loaded, with no state of a tenant saved or cached."""
    load(platform, request.param)
    empty(platform)
    return str(request.param)


def empty(platform: Platform) -> None:
    """Flush all caches, and remove all files."""
    flush(platform, scope="all")
    for folder in tenant_folders(platform):
        for file in folder.iterdir():
            file.unlink()


def load(platform: Platform, name: str, **overrides: object) -> None:
    def accepted() -> bool:  # only when a worker runs
        path = f"/v1/admin/models/{name}/load"
        return platform.admin("POST", path, overrides)[0] in (200, 202)

    platform.wait_for(accepted, 20, f"load of {name}")
    platform.wait_state(name, "loaded", LOAD_S)


def unload(platform: Platform, name: str) -> None:
    platform.admin("POST", f"/v1/admin/models/{name}/unload", {})
    platform.wait_state(name, "unloaded", LOAD_S)


def tenant_folders(platform: Platform) -> list[Path]:
    folder = platform.folder / "states" / "tenants"
    return list(folder.iterdir()) if folder.exists() else []


def act(
    platform: Platform,
    model: str,
    action: str,
    filename: object = None,
    *,
    tenant: str = "a",
    slot: str = "0",
    conversation: str | None = None,
    tag: str | None = None,
) -> tuple[int, Any]:
    body = {"model": model, **({} if filename is None else {"filename": filename})}
    headers = {"X-Conversation-Id": conversation, "X-Cache-Tag": tag}
    given = {name: value for name, value in headers.items() if value is not None}
    path = f"/slots/{slot}?action={action}"
    return platform.request("POST", path, body, KEYS[tenant], **given)[:2]


def answer(
    platform: Platform,
    model: str,
    text: str = TEXT,
    *,
    tenant: str = "a",
    conversation: str | None = None,
    tag: str | None = None,
) -> tuple[int, str]:
    """Ask a question; returns the cached tokens of the prompt, and the text."""
    headers = {"X-Conversation-Id": conversation, "X-Cache-Tag": tag}
    given = {name: value for name, value in headers.items() if value is not None}
    messages = [{"role": "user", "content": text}]
    body = {"model": model, "messages": messages, "max_tokens": 12, "temperature": 0}
    status, found, _ = platform.request("POST", "/v1/chat/completions", body, KEYS[tenant], **given)
    assert status == 200, found
    cached = (found["usage"].get("prompt_tokens_details") or {}).get("cached_tokens", 0)
    return cached, found["choices"][0]["message"]["content"]


def saved(platform: Platform, model: str, filename: str, **more: Any) -> dict[str, Any]:
    status, found = act(platform, model, "save", filename, **more)
    assert status == 200, found
    return dict(found)


def refused(call: tuple[int, Any]) -> tuple[int, str]:
    """The status and the message of a refusal in llama-server's form."""
    status, found = call
    assert found["error"]["code"] == status
    assert set(found["error"]) == {"code", "message", "type"}
    return status, found["error"]["message"]


# ---- saved, restored, erased


@pytest.mark.rule("llama-server/state-save", "llama-server/state-restore")
def test_a_restored_state_is_used_by_the_next_request_and_changes_no_answer(
    platform: Platform, model: str
) -> None:
    none, text = answer(platform, model)
    done = saved(platform, model, "chat.bin")
    assert none == 0
    assert done.keys() == {"id_slot", "filename", "n_saved", "n_written", "timings"}
    assert (done["id_slot"], done["filename"]) == (0, "chat.bin")
    assert done["n_saved"] > 200
    status, erased = act(platform, model, "erase")
    assert (status, erased) == (200, {"id_slot": 0, "n_erased": done["n_saved"]})
    assert answer(platform, model, "Hello")[0] == 0
    status, found = act(platform, model, "restore", "chat.bin", slot="1")
    assert (status, found.pop("timings").keys()) == (200, {"restore_ms"})
    expected = {"n_restored": done["n_saved"], "n_read": done["n_written"]}
    assert found == {"id_slot": 1, "filename": "chat.bin", **expected}
    cached, again = answer(platform, model)
    assert cached > 200
    assert again == text


@pytest.mark.rule("llama-server/state-conversation")
def test_a_conversation_is_saved_by_its_id_after_others(platform: Platform, model: str) -> None:
    answer(platform, model, conversation="chat/1")
    answer(platform, model, "Hello", conversation="chat/2")
    done = saved(platform, model, "one", conversation="chat/1", slot="9")
    assert (done["id_slot"], done["n_saved"] > 200) == (9, True)
    assert refused(act(platform, model, "save", "two", conversation="chat/3"))[0] == 404
    assert refused(act(platform, model, "save", "two", conversation="chat/1", tenant="b"))[0] == 404
    assert act(platform, model, "erase", conversation="chat/1")[1]["n_erased"] == done["n_saved"]
    assert answer(platform, model)[0] < 100
    flush(platform, scope="all")


@pytest.mark.rule("llama-server/state-tenants")
def test_two_tenants_have_files_of_the_same_name(platform: Platform, model: str) -> None:
    answer(platform, model)
    answer(platform, model, "Hello there", tenant="b")
    first = saved(platform, model, "chat.bin")
    assert refused(act(platform, model, "restore", "chat.bin", tenant="b"))[0] == 404
    second = saved(platform, model, "chat.bin", tenant="b")
    assert first["n_saved"] > second["n_saved"]
    assert act(platform, model, "restore", "chat.bin")[1]["n_restored"] == first["n_saved"]
    assert act(platform, model, "restore", "chat.bin", tenant="b")[1]["n_restored"] == second["n_saved"]
    assert all(folder.stat().st_mode & 0o777 == 0o700 for folder in tenant_folders(platform))
    files = [file for folder in tenant_folders(platform) for file in folder.iterdir()]
    assert {file.stat().st_mode & 0o777 for file in files} == {0o600}


def test_a_file_of_another_tenant_is_refused_by_its_content(platform: Platform, model: str) -> None:
    """Even if an operator copies it."""
    answer(platform, model)
    answer(platform, model, tenant="b")
    saved(platform, model, "mine")
    saved(platform, model, "theirs", tenant="b")
    (mine,) = (f for f in tenant_folders(platform) if (f / "mine").exists())
    (theirs,) = (f for f in tenant_folders(platform) if (f / "theirs").exists())
    (theirs / "copied").write_bytes((mine / "mine").read_bytes())
    status, message = refused(act(platform, model, "restore", "copied", tenant="b"))
    assert status == 400
    assert "another model or cache tag" in message


def test_a_state_is_of_no_use_after_a_flush_and_under_another_tag(platform: Platform, model: str) -> None:
    answer(platform, model, tag="x")
    saved(platform, model, "tagged", tag="x")
    assert refused(act(platform, model, "restore", "tagged"))[0] == 400
    assert act(platform, model, "restore", "tagged", tag="x")[0] == 200
    flush(platform, scope="tenant", tenant="a")
    status, message = refused(act(platform, model, "restore", "tagged", tag="x"))
    assert (status, "before a flush" in message) == (400, True)


@pytest.mark.rule("llama-server/state-erase")
def test_an_erasure_with_a_filename_deletes_the_file(platform: Platform, model: str) -> None:
    answer(platform, model)
    saved(platform, model, "chat")
    assert act(platform, model, "erase", "chat") == (200, {"id_slot": 0, "filename": "chat", "n_erased": 0})
    assert refused(act(platform, model, "restore", "chat")) == (404, "there is no saved state of this name")
    assert refused(act(platform, model, "erase", "chat"))[0] == 404
    assert answer(platform, model)[0] > 200


@pytest.mark.rule("llama-server/state-mismatch")
@pytest.mark.parametrize(
    ("name", "overrides", "reason"),
    [
        ("llama_cpp", {"gguf_type_k": "q8_0"}, "another KV types: f16, f16, now q8_0, f16"),
        ("llama_cpp", {"gguf_n_ctx": 1024}, "another context: 2048, now 1024"),
        ("llama_server", {"llama_server_n_ctx": 1024}, "another context: 2048, now 1024"),
    ],
)
def test_a_state_of_another_configuration_is_refused_with_the_reason(
    platform: Platform, name: str, overrides: dict[str, Any], reason: str
) -> None:
    load(platform, name)
    answer(platform, name)
    saved(platform, name, "other")
    unload(platform, name)
    load(platform, name, **overrides)
    try:
        status, message = refused(act(platform, name, "restore", "other"))
        assert (status, reason in message) == (400, True), message
    finally:
        unload(platform, name)


# ---- hostile names and files


@pytest.mark.rule("llama-server/state-names")
@pytest.mark.parametrize(
    "name",
    [
        *("", ".", "..", "../chat", "a/b", "/etc/passwd", "a\\b", ".hidden", ".lock", ".part-1"),
        *("a..b", "a."),
        *("a\0b", "a\nb", " a", "a b", "\u00e9", "a\u202eb", "a" * 129, "-" + "a" * 200, "x" * 1025),
    ],
)
def test_a_hostile_name_is_refused(platform: Platform, name: str) -> None:
    load(platform, "llama_cpp")
    for action in ("save", "restore", "erase"):
        status, message = refused(act(platform, "llama_cpp", action, name))
        assert status == 400
        assert message == "Invalid filename" or len(name) > 1024


def test_a_name_of_a_mebibyte_or_of_another_type_is_refused(platform: Platform) -> None:
    load(platform, "llama_cpp")
    for name in ("a" * (1 << 20), 7, ["a"], {"a": 1}):
        assert refused(act(platform, "llama_cpp", "save", name))[0] == 400
    assert refused(act(platform, "llama_cpp", "save"))[0] == 400


def test_a_hostile_slot_action_or_conversation_is_refused(platform: Platform) -> None:
    load(platform, "llama_cpp")
    for slot in ("-1", "a", "99999", "1e1", "%2e%2e", "\u0661".encode().hex()):
        assert refused(act(platform, "llama_cpp", "save", "a", slot=slot)) == (400, "Invalid slot ID")
    for action in ("", "delete", "SAVE", "save%00"):
        assert refused(act(platform, "llama_cpp", action, "a")) == (400, "Invalid action")
    assert refused(act(platform, "llama_cpp", "save", "a", conversation="x" * 513))[0] == 400


@pytest.mark.rule("llama-server/state-names")
def test_links_and_other_files_in_the_folder_are_not_followed(platform: Platform, model: str) -> None:
    answer(platform, model)
    saved(platform, model, "real")
    (folder,) = (f for f in tenant_folders(platform) if (f / "real").exists())
    outside = platform.folder / "outside"
    outside.write_bytes((folder / "real").read_bytes())
    (folder / "link").symlink_to(outside)
    os.link(outside, folder / "hard")
    os.mkfifo(folder / "fifo")
    (folder / "folder").mkdir()
    try:
        for name in ("link", "hard", "fifo", "folder"):
            for action in ("restore", "erase"):
                assert refused(act(platform, model, action, name))[0] == 404, name
        for name in ("link", "hard"):
            saved(platform, model, name)  # replaces the link, not what it names
        assert outside.stat().st_nlink == 1
        assert act(platform, model, "restore", "link")[0] == 200
        assert refused(act(platform, model, "save", "folder"))[0] == 500
    finally:
        (folder / "folder").rmdir()
        (folder / "fifo").unlink()


@pytest.mark.rule("llama-server/state-mismatch")
def test_a_damaged_file_is_refused_before_an_engine_reads_it(platform: Platform, model: str) -> None:
    _, text = answer(platform, model)
    saved(platform, model, "good")
    (folder,) = (f for f in tenant_folders(platform) if (f / "good").exists())
    good = (folder / "good").read_bytes()
    middle = len(good) // 2
    damaged = {
        "digest": good[:middle] + bytes([good[middle] ^ 1]) + good[middle + 1 :],
        "longer": good + b"x",
        "shorter": good[:-1],
        "header": good[:100],
        "empty": b"",
        "tokens": good.replace(b'"tokens":', b'"tokens":1', 1),
        "other": b"GGUF" + good[4:],
    }
    for content in damaged.values():
        (folder / "bad").write_bytes(content)
        (folder / "bad").chmod(0o600)
        status, message = refused(act(platform, model, "restore", "bad"))
        assert status == 400
        assert "damaged" in message or "not a saved state" in message
    assert answer(platform, model)[1] == text


# ---- quotas, many saves, deaths


@pytest.mark.rule("llama-server/state-quota")
def test_the_number_of_a_tenants_files_is_bounded(platform: Platform, model: str) -> None:
    answer(platform, model)
    for number in range(MAX_FILES):
        saved(platform, model, f"file-{number}")
    status, message = refused(act(platform, model, "save", "one-more"))
    assert (status, "delete one" in message) == (409, True)
    saved(platform, model, "file-0")  # under a name that is there
    assert act(platform, model, "erase", "file-1")[0] == 200
    saved(platform, model, "one-more")


def test_a_thousand_saves_leave_one_file_and_no_other_bytes(platform: Platform) -> None:
    load(platform, "llama_cpp")
    empty(platform)
    answer(platform, "llama_cpp")
    for _ in range(1000):
        saved(platform, "llama_cpp", "same")
    (folder,) = (f for f in tenant_folders(platform) if (f / "same").exists())
    assert {file.name for file in folder.iterdir()} == {"same", ".lock"}
    assert not list((platform.folder / "states" / "engines").glob("*/*"))


def test_a_client_that_goes_leaves_no_file(platform: Platform, model: str) -> None:
    """The engine is stopped meanwhile, so that it cannot be quicker."""
    answer(platform, model)
    pid = core_of(platform.engine_pid(model))
    freeze(pid)
    try:
        body = json.dumps({"model": model, "filename": "gone"}).encode()
        address = urlsplit(platform.url)
        with socket.create_connection((address.hostname, address.port)) as client:
            head = f"POST /slots/0?action=save HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {KEYS['a']}\r\n"
            head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
            client.sendall(head.encode() + body)
            platform.wait_for(lambda: jobs(platform, model), 10, "running job")
        platform.wait_for(lambda: not jobs(platform, model), 10, "end of the job")
    finally:
        os.kill(pid, signal.SIGCONT)
    saved(platform, model, "later")  # one at a time: the dropped one has ended
    (folder,) = (f for f in tenant_folders(platform) if (f / "later").exists())
    assert not (folder / "gone").exists()
    assert not list((platform.folder / "states" / "engines").glob("*/*"))


def jobs(platform: Platform, model: str) -> list[Any]:
    """The jobs that run on a model."""
    status, found = platform.admin("GET", f"/v1/admin/jobs?model={model}&status=running")
    assert status == 200, found
    return list(found["data"])


def test_the_death_of_an_engine_ends_a_save_and_leaves_no_file(platform: Platform, model: str) -> None:
    """The job runs again in the next engine, which has no state of the tenant."""
    answer(platform, model)
    saved(platform, model, "before")
    pid = platform.engine_pid(model)
    core = core_of(pid)
    freeze(core)
    body = json.dumps({"model": model, "filename": "after"}).encode()
    address = urlsplit(platform.url)
    with socket.create_connection((address.hostname, address.port), timeout=scaled(30)) as client:
        head = f"POST /slots/0?action=save HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {KEYS['a']}\r\n"
        head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        client.sendall(head.encode() + body)
        platform.wait_for(lambda: jobs(platform, model), 10, "running job")
        os.kill(core, signal.SIGKILL)
        assert b" 404 " in client.recv(64)
    (folder,) = (f for f in tenant_folders(platform) if (f / "before").exists())
    assert not (folder / "after").exists()
    assert act(platform, model, "restore", "before")[0] == 200
    assert answer(platform, model)[0] > 200


# ---- several replicas


def test_a_conversation_is_saved_in_the_replica_that_answered_and_restored_in_all(platform: Platform) -> None:
    load(platform, "pair")
    empty(platform)
    for number in range(4):
        answer(platform, "pair", f"Hello {number}", conversation=f"other/{number}")
    _, text = answer(platform, "pair", conversation="chat")
    for number in range(3):
        answer(platform, "pair", f"Hello {number}", conversation=f"other/{number}")
    done = saved(platform, "pair", "chat", conversation="chat")
    assert done["n_saved"] > 200
    status, erased = act(platform, "pair", "erase", conversation="chat")
    assert (status, erased["n_erased"]) == (200, done["n_saved"])
    status, found = act(platform, "pair", "restore", "chat", conversation="chat")
    assert (status, found["n_restored"], found["id_slot"]) == (200, done["n_saved"], 0)
    answers = [answer(platform, "pair", tag=None) for _ in range(4)]  # in one replica after the other
    assert [again for _, again in answers] == [text] * 4
    assert all(cached > 200 for cached, _ in answers)
    status, erased = act(platform, "pair", "erase", conversation="chat")
    assert status == 200


def test_a_slot_of_several_replicas_is_refused_without_a_conversation(platform: Platform) -> None:
    load(platform, "pair")
    for action in ("save", "erase"):
        status, message = refused(act(platform, "pair", action, "a" if action == "save" else None))
        assert (status, "name the conversation" in message) == (501, True)
    assert refused(act(platform, "pair", "save", "a", conversation="unknown"))[0] == 404
    assert refused(act(platform, "pair", "restore", "unknown"))[0] == 404


# ---- models that cannot


@pytest.mark.rule("llama-server/not-supported")
def test_a_model_without_states_is_refused_with_501(platform: Platform) -> None:
    status, found = act(platform, "stub", "save", "a")
    assert (status, found["error"]["type"]) == (501, "not_supported_error")
