"""The program that downloads from a hub, against a hub of the tests' own."""

from __future__ import annotations

import errno
import hashlib
import os
import random
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import huggingface_hub.constants
import orjson
import pytest

from config.hub_artifact import HubArtifact, parse
from fleet import hub_listing
from fleet.hub_cache import cache_folder
from fleet.hub_listing import HubFailed
from tests.support.hub_server import HubServer, Repository, serving_hub
from tests.support.waiting import scaled
from workers.downloads import program
from workers.downloads.program import fetch
from workers.downloads.records import DownloadRecords

CHUNK = 1024 * 1024
"""The program writes pieces of this size."""

COMMIT = "c" * 40
WEIGHTS = random.Random(1).randbytes(300_000)
FILES = {
    "config.json": b'{"model_type": "llama"}',
    "model.safetensors": WEIGHTS,
    "tokenizer.json": b"{}",
    "pytorch_model.bin": b"pickle" * 1000,
    "original/consolidated.pth": b"pickle" * 1000,
    "empty.txt": b"",
}


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HubServer]:
    monkeypatch.setattr(hub_listing, "BACKOFF_S", 0.0)
    with serving_hub({"acme/tiny": Repository(FILES)}, tmp_path / "hf", monkeypatch) as server:
        yield server


def download(
    path: str = "hf://acme/tiny",
    sha256: Mapping[str, str] | None = None,
    keep_free: int = 0,
    weights: tuple[str, ...] = (),
) -> Path:
    artifact = parse(path)
    assert artifact is not None
    return fetch([artifact], sha256 or {}, keep_free, weights, records())[0]


def asked(artifact: str) -> bytes:
    """The request of the program's process."""
    fields = {"artifacts": [artifact], "sha256": {}, "keep_free_bytes": 0, "weights": []}
    return orjson.dumps({**fields, "records": str(records().folder)}) + b"\n"


def records() -> DownloadRecords:
    return DownloadRecords(cache_folder().parent / "downloads")


def failure(path: str = "hf://acme/tiny", **more: object) -> HubFailed:
    with pytest.raises(HubFailed) as refused:
        download(path, **more)  # type: ignore[arg-type]
    return refused.value


def leftovers() -> list[str]:
    return sorted(path.name for path in cache_folder().rglob("*.part"))


@pytest.mark.usefixtures("hub")
def test_a_repository_is_downloaded_without_pickles_and_other_folders(
    capfdbinary: pytest.CaptureFixture[bytes],
) -> None:
    folder = download()
    assert folder.name == COMMIT
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == {
        name: data for name, data in FILES.items() if not name.endswith((".bin", ".pth"))
    }
    assert (folder.parent.parent / "refs" / "main").read_text() == COMMIT
    assert leftovers() == []
    total = sum(path.stat().st_size for path in folder.iterdir())
    assert capfdbinary.readouterr().out.splitlines()[-1] == b'{"done":%d,"total":%d}' % (total, total)


def test_a_complete_repository_is_not_sent_again(hub: HubServer) -> None:
    first = download()
    hub.sent.clear()
    assert download() == first
    assert hub.sent == []


@pytest.mark.usefixtures("hub")
def test_the_libraries_of_the_hub_find_what_was_downloaded() -> None:
    folder = download()
    script = (
        "from huggingface_hub import snapshot_download as s; print(s('acme/tiny', local_files_only=True))"
    )
    found = subprocess.run(
        [sys.executable, "-c", script], env=os.environ.copy(), capture_output=True, text=True, check=True
    )
    assert found.stdout.strip() == str(folder)


def test_a_single_file_is_downloaded_when_the_path_names_it(hub: HubServer) -> None:
    hub.repositories["acme/gguf"] = Repository({"a.gguf": WEIGHTS, "b.gguf": WEIGHTS[:-1]})
    assert download("hf://acme/gguf/b.gguf").read_bytes() == WEIGHTS[:-1]
    assert {file for file, _ in hub.sent} == {"b.gguf"}


def test_all_parts_of_a_split_file_are_downloaded(hub: HubServer) -> None:
    names = [f"m-{number:05}-of-00003.gguf" for number in (1, 2, 3)]
    hub.repositories["acme/gguf"] = Repository(dict.fromkeys(names, WEIGHTS) | {"other.gguf": WEIGHTS})
    path = download(f"hf://acme/gguf/{names[0]}")
    assert path.name == names[0]
    assert sorted(file.name for file in path.parent.iterdir()) == names


def test_a_backend_gets_the_weights_of_its_own_format(hub: HubServer) -> None:
    hub.repositories["acme/ct2"] = Repository({"model.bin": WEIGHTS, "config.json": b"{}", "x.bin": WEIGHTS})
    folder = download("hf://acme/ct2", weights=("model.bin",))
    assert sorted(path.name for path in folder.iterdir()) == ["config.json", "model.bin"]


def test_a_download_continues_when_the_connection_breaks(hub: HubServer) -> None:
    weights = random.Random(2).randbytes(2 * CHUNK + 1)
    hub.repositories["acme/large"] = Repository({"model.safetensors": weights})
    hub.breaks += [CHUNK + 1000]
    folder = download("hf://acme/large")
    assert (folder / "model.safetensors").read_bytes() == weights
    assert [first for _, first in hub.sent] == [0, CHUNK]


def test_a_file_with_another_digest_is_deleted_and_refused(hub: HubServer) -> None:
    hub.corrupts = True
    error = failure()
    assert error.code == "hash_mismatch"
    assert "model.safetensors" in str(error)
    assert leftovers() == []
    hub.corrupts = False
    assert (download() / "model.safetensors").read_bytes() == WEIGHTS


@pytest.mark.usefixtures("hub")
def test_a_file_without_the_digest_of_the_catalogue_is_refused() -> None:
    right = hashlib.sha256(WEIGHTS).hexdigest()
    assert download(sha256={"model.safetensors": right})
    error = failure(sha256={"model.safetensors": "0" * 64})
    assert error.code == "hash_mismatch"
    assert right in str(error)


@pytest.mark.usefixtures("hub")
def test_a_digest_of_a_file_that_is_not_downloaded_is_refused() -> None:
    error = failure(sha256={"model.gguf": "0" * 64})
    assert error.code == "hash_mismatch"
    assert "model.gguf" in str(error)


def test_a_file_that_the_hub_does_not_send_over_http_names_another_way(
    hub: HubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(huggingface_hub.constants, "MAX_HTTP_DOWNLOAD_SIZE", 100_000)
    error = failure()
    assert error.code == "hub_refused"
    assert "hf download" in str(error)
    assert "model.safetensors" not in {file for file, _ in hub.sent}


def test_a_full_disk_refuses_the_download_before_it_begins(hub: HubServer) -> None:
    error = failure(keep_free=2**60)
    assert error.code == "disk_full"
    assert "HF_HOME" in str(error)
    assert hub.sent == []


@pytest.mark.usefixtures("hub")
def test_a_disk_that_becomes_full_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(program, "_receive", full)
    error = failure()
    assert error.code == "disk_full"
    assert "continues where it stopped" in str(error)


@pytest.mark.usefixtures("hub")
def test_a_hub_that_does_not_answer_is_named_in_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    error = failure()
    assert error.code == "hub_unreachable"
    assert "\n" not in str(error)


def test_a_busy_hub_is_asked_again(hub: HubServer) -> None:
    hub.statuses += [503, 503]
    assert download()


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("hf://acme/nosuch", "no such model"),
        ("hf://acme/tiny@v9", "no such revision"),
        ("hf://acme/tiny/nosuch.gguf", "no file nosuch.gguf"),
        ("hf://acme/pickles", "no safetensors or GGUF files"),
    ],
)
def test_a_model_that_the_hub_does_not_have_is_named(hub: HubServer, path: str, words: str) -> None:
    hub.repositories["acme/pickles"] = Repository({"pytorch_model.bin": WEIGHTS})
    error = failure(path)
    assert error.code == "hub_not_found"
    assert words in str(error)


def test_a_gated_model_asks_for_a_token(hub: HubServer) -> None:
    hub.gated = True
    error = failure()
    assert error.code == "hub_access_denied"
    assert "HF_TOKEN" in str(error)


@pytest.mark.parametrize(
    "name",
    [
        "../evil.safetensors",
        "..\\evil.safetensors",
        "/evil.safetensors",
        "a//evil.safetensors",
        "evil\0.safetensors",
        "evil" * 100 + ".safetensors",
        "a/" * 20 + "evil.safetensors",
    ],
)
def test_a_name_that_leads_out_of_the_cache_is_refused(hub: HubServer, name: str) -> None:
    hub.repositories["acme/evil"] = Repository({name: WEIGHTS})
    with pytest.raises(HubFailed) as refused:
        fetch([HubArtifact("acme/evil", file=name)], {}, 0, (), records())
    assert refused.value.code == "hub_refused"
    assert not list(cache_folder().rglob("evil*"))


@pytest.mark.parametrize("commit", ["../../../../evil", "/evil", "main", "", "C" * 40, None, 5])
def test_a_commit_that_is_none_is_refused(hub: HubServer, tmp_path: Path, commit: Any) -> None:
    hub.repositories["acme/tiny"] = Repository(FILES, commit=commit)
    assert failure().code == "hub_refused"
    assert not list(tmp_path.rglob("*evil*"))


def test_another_commit_than_the_one_that_was_asked_for_is_refused(hub: HubServer) -> None:
    pinned = "d" * 40
    hub.repositories["acme/tiny"] = Repository(FILES, branch=pinned)  # answers with the commit ccc...
    assert failure(f"hf://acme/tiny@{pinned}").code == "hub_refused"


@pytest.mark.parametrize("size", [-5, 2**62, "5", True, [5]])
def test_a_size_that_no_file_has_is_refused(hub: HubServer, size: Any) -> None:
    hub.changes = {"size": size}
    assert failure().code == "hub_refused"


@pytest.mark.parametrize("digest", ["../evil", "none", None, 5, "A" * 40])
def test_a_digest_that_is_none_is_refused(hub: HubServer, digest: Any) -> None:
    hub.changes = {"blobId": digest, "lfs": None}
    assert failure().code == "hub_refused"


def test_a_description_that_is_none_is_refused(hub: HubServer) -> None:
    hub.changes = {"lfs": 5}
    assert failure().code == "hub_refused"


def test_no_more_is_written_than_the_hub_has_named(hub: HubServer) -> None:
    hub.changes = {"size": 100_000}
    error = failure("hf://acme/tiny/model.safetensors")
    assert (error.code, leftovers()) == ("hub_refused", [])
    assert "more than the 100000 bytes that it announced for model.safetensors" in str(error)


def test_two_downloads_at_once_fetch_each_file_once(hub: HubServer) -> None:
    request = asked("hf://acme/tiny")
    command = [sys.executable, "-m", "workers.downloads.program"]
    running = []
    for _ in range(2):
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=os.environ.copy()
        )
        assert process.stdin is not None
        process.stdin.write(request)
        process.stdin.flush()
        running.append(process)
    for process in running:
        assert process.stdout is not None
        assert b'"paths"' in process.stdout.read().splitlines()[-1]
        process.stdin.close()  # type: ignore[union-attr]
        assert process.wait() == 0
    assert sorted(file for file, _ in hub.sent) == ["config.json", "model.safetensors", "tokenizer.json"]


def test_a_download_that_another_process_makes_is_waited_for_with_its_progress(
    hub: HubServer, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    weights = random.Random(3).randbytes(3 * CHUNK)
    hub.repositories["acme/large"] = Repository({"model.safetensors": weights})
    hub.hold, hub.hold_after = threading.Event(), 2 * CHUNK
    request = asked("hf://acme/large")
    command = [sys.executable, "-m", "workers.downloads.program"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as first:
        assert first.stdin is not None
        first.stdin.write(request)
        first.stdin.flush()
        while sum(part.stat().st_size for part in cache_folder().rglob("*.part")) < 2 * CHUNK:
            threading.Event().wait(0.01)
        second = threading.Thread(target=download, args=("hf://acme/large",))
        second.start()
        shown = b'{"done":%d,"total":%d}' % (2 * CHUNK, 3 * CHUNK)
        output = b""
        while shown not in output:
            output += capfdbinary.readouterr().out
            threading.Event().wait(0.01)
        hub.hold.set()
        second.join(scaled(30))
        assert first.wait(scaled(30)) == 0
    assert len(hub.sent) == 1


def test_the_program_ends_when_its_worker_has_died(hub: HubServer) -> None:
    hub.statuses += [503] * 1000  # it would be tried again for a while
    command = [sys.executable, "-m", "workers.downloads.program"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=os.environ.copy())
    request = asked("hf://acme/tiny")
    process.communicate(request, timeout=scaled(30))  # closes its stdin
    assert process.returncode == 1
