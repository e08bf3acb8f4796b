"""The shared keys: their files, what is checked about them, and how they are replaced."""

from __future__ import annotations

import base64
import json
import logging
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from governance.op_tokens import private_files
from governance.op_tokens.key_files import SharedKeyFiles, read_shared_keys
from governance.op_tokens.private_files import KeyFileError, read_private_file
from governance.op_tokens.shared_keys import SharedKeys

HEX = "00112233445566778899aabbccddeeff" * 2
RAW = bytes(range(256))[100:140]

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write a file of the test's folder that only its owner can read."""

    def write(name: str, content: bytes | str, mode: int = 0o600) -> Path:
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True, mode=0o700)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        path.chmod(mode)
        return path

    return write


def problem(path: Path) -> str:
    with pytest.raises(KeyFileError) as caught:
        SharedKeyFiles(path)
    return str(caught.value)


# ---- one file


@pytest.mark.parametrize(
    ("content", "secret"),
    [
        (HEX, HEX.encode()),
        (f"{HEX}\n", HEX.encode()),
        (f"{HEX}\r\n", HEX.encode()),
        (f"{HEX}\n\n", f"{HEX}\n\n".encode()),
        ("a password of 40 characters, with spaces", b"a password of 40 characters, with spaces"),
        (f"hex:{HEX}\n", bytes.fromhex(HEX * 1)),
        (f"hex:{HEX.upper()}", bytes.fromhex(HEX)),
        (b"base64:" + base64.b64encode(RAW) + b"\n", RAW),
        (RAW, RAW),
        (RAW + b"\n", RAW + b"\n"),
        ("ключ из тридцати двух байтов", "ключ из тридцати двух байтов".encode()),
    ],
)
def test_the_content_of_a_file_becomes_the_key(write: Write, content: bytes | str, secret: bytes) -> None:
    (key,) = read_shared_keys(write("model-api.key", content)).keys

    assert (key.id, key.secret, key.not_before, key.not_after) == ("model-api", secret, None, None)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("", "has 0 hex digits, which are 0 random bytes: write at least 64"),
        ("\n", "has 0 hex digits"),
        ("a" * 31, "has 31 hex digits, which are 15 random bytes: write at least 64"),
        (HEX[:63], "has 63 hex digits"),
        ("short", "has a key of 5 bytes: a key needs at least 32 random bytes"),
        (RAW[:31], "has a key of 31 bytes"),
        (bytes(64), "has no random key: write one with `openssl rand -hex 32`"),
        ("0" * 64, "has no random key"),
        ("hex:0123456789abcdef", "has a key of 8 bytes"),
        (f"hex:{HEX}0", "has no hex digits after hex"),
        (f"hex: {HEX}", "has no hex digits after hex"),
        ("base64:a", "has no base64 after base64"),
        ("base64:" + base64.b64encode(RAW).decode() + " ", "has no base64 after base64"),
        (b"x" * 4097, "has more than 4096 bytes: it is not a key"),
    ],
)
def test_a_file_without_a_usable_key_is_refused(write: Write, content: bytes | str, expected: str) -> None:
    path = write("model-api.key", content)

    message = problem(path)

    assert message.startswith(f"{path} ")
    assert expected in message
    if len(content) > 8:
        assert str(content) not in message


@pytest.mark.parametrize("mode", [0o640, 0o644, 0o604, 0o660, 0o700 | 0o001, 0o602])
def test_a_file_that_others_can_read_is_refused_with_the_command_that_mends_it(
    write: Write, monkeypatch: pytest.MonkeyPatch, mode: int
) -> None:
    monkeypatch.setattr(private_files, "ROOT_USER", -1)  # the tests may run as root
    path = write("model-api.key", HEX, mode)

    assert problem(path) == (
        f"{path} can be read or written by others (mode {mode:04o}): run `chmod 600 {path}`"
    )


def test_a_file_of_root_may_be_read_by_a_group(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(private_files, "ROOT_USER", os.geteuid())

    assert read_private_file(write("one.key", HEX, 0o640)) == HEX.encode()
    for mode in (0o660, 0o644, 0o650):
        assert "chmod 600" in problem(write("other.key", HEX, mode))


def test_a_file_of_another_user_is_refused(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write("model-api.key", HEX)
    monkeypatch.setattr(private_files, "ROOT_USER", -1)
    owner = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)

    assert problem(path) == (
        f"{path} belongs to another user (uid {owner}), who could change it: run `chown {owner + 1} {path}`"
    )


def test_a_missing_file_a_pipe_and_a_bad_name_are_refused(write: Write, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe", 0o600)

    assert problem(tmp_path / "none.key").endswith("does not exist: create the key, or correct the path")
    assert "is not a regular file" in problem(tmp_path / "pipe")
    assert "is not named after a key id" in problem(write("a b.key", HEX))


# ---- a folder


def test_a_folder_has_a_key_for_each_file_with_its_validity(write: Write, tmp_path: Path) -> None:
    write("keys/2026.key", HEX)
    write("keys/2027.key", HEX[::-1])
    write("keys/..data", "ignored")
    write("keys/validity.json", '{"2026": {"not_after": "2027-02-01"}, "2027": {"not_before": "2027-01-01"}}')

    ring = read_shared_keys(tmp_path / "keys")

    assert [key.id for key in ring.keys] == ["2026", "2027"]
    january, february = 1_799_280_000, 1_801_440_000
    assert [key.id for key in ring.valid_keys(january, None)] == ["2026", "2027"]
    assert [key.id for key in ring.valid_keys(february, None)] == ["2027"]
    assert [key.id for key in ring.valid_keys(january - 10 * 86_400, None)] == ["2026"]
    assert list(ring.valid_keys(february, "2026")) == []


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("2027.key", HEX, "has the same key under two ids, 2026 and 2027: remove one"),
        ("2027.txt", HEX, "is neither a key (<id>.key) nor validity.json: remove or rename it"),
        ("2027.key", "short", "has a key of 5 bytes"),
        ("validity.json", "{", "is not valid JSON"),
        ("validity.json", "[]", "must hold an object"),
        ("validity.json", '{"2027": {}}', "names a key without a file: add '2027.key'"),
        ("validity.json", '{"2026": {"not_after": "soon"}}', "has a wrong entry for the key 2026"),
        ("validity.json", '{"2026": {"until": "2027-01-01"}}', "has a wrong entry for the key 2026"),
        ("validity.json", '{"2026": 7}', "has a wrong entry for the key 2026"),
        (
            "validity.json",
            '{"2026": {"not_before": "2027-01-02", "not_after": "2027-01-01"}}',
            "has a wrong entry",
        ),
        ("validity.json", '{"2026": {}, "2026": {}}', "a key appears twice"),
    ],
)
def test_a_folder_with_a_mistake_is_refused(
    write: Write, tmp_path: Path, name: str, content: str, expected: str
) -> None:
    write("keys/2026.key", HEX)
    write(f"keys/{name}", content)

    assert expected in problem(tmp_path / "keys")


def test_a_folder_that_others_can_write_is_refused(write: Write) -> None:
    folder = write("keys/2026.key", HEX).parent
    folder.chmod(0o770)

    assert problem(folder) == f"{folder} can be written by others (mode 0770): run `chmod 700 {folder}`"


def test_a_folder_has_at_most_16_keys_and_at_least_one(write: Write, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir(mode=0o700)
    for number in range(17):
        write(f"keys/{number}.key", f"{number:064x}".replace("0", "abcdefgh0")[:80])

    assert "has no key: create one with `stoker op keygen --hmac" in problem(tmp_path / "empty")
    assert "has more than 16 keys" in problem(tmp_path / "keys")


def test_a_platform_without_a_path_has_no_key() -> None:
    assert SharedKeyFiles(None).current() == SharedKeys()
    assert SharedKeyFiles(None).current().is_empty


# ---- changes


def ids(keys: SharedKeyFiles) -> list[str]:
    return [key.id for key in keys.current().keys]


def test_a_changed_file_is_read_again(write: Write) -> None:
    path = write("model-api.key", HEX)
    keys = SharedKeyFiles(path)
    first = keys.current()
    assert keys.current() is first

    write("model-api.key", HEX[::-1])

    assert keys.current().keys[0].secret == HEX[::-1].encode()


def test_a_replaced_link_is_read_again(write: Write, tmp_path: Path) -> None:
    link = tmp_path / "op.key"
    link.symlink_to(write("one.key", HEX))
    keys = SharedKeyFiles(link)
    link.unlink()
    link.symlink_to(write("two.key", HEX[::-1]))

    assert keys.current().keys[0].secret == HEX[::-1].encode()


def test_a_key_is_added_and_another_removed_while_the_platform_runs(write: Write, tmp_path: Path) -> None:
    keys = SharedKeyFiles(write("keys/2026.key", HEX).parent)

    write("keys/2027.key", HEX[::-1])
    assert ids(keys) == ["2026", "2027"]
    (tmp_path / "keys" / "2026.key").unlink()
    assert ids(keys) == ["2027"]
    (tmp_path / "keys" / "2027.key").unlink()
    assert keys.current().is_empty, "all keys were removed on purpose"


def test_a_broken_change_keeps_the_keys_and_is_logged_once(
    write: Write, caplog: pytest.LogCaptureFixture
) -> None:
    path = write("model-api.key", HEX)
    keys = SharedKeyFiles(path)
    first = keys.current()

    with caplog.at_level(logging.INFO):
        write("model-api.key", "half a k")
        assert keys.current() is first
        assert keys.current() is first
        path.unlink()
        assert keys.current() is first
        write("model-api.key", HEX[::-1])
        assert keys.current() is not first

    messages = [record.getMessage() for record in caplog.records]
    assert len(messages) == 3
    assert "stay as they were" in messages[0]
    assert "has a key of 8 bytes" in messages[0]
    assert "does not exist" in messages[1]
    assert messages[2] == "the keys of opTokens have changed; there are now: model-api"
    assert HEX[::-1] not in " ".join(messages)


def test_a_changed_mode_is_noticed(
    write: Write, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(private_files, "ROOT_USER", -1)
    path = write("model-api.key", HEX)
    keys = SharedKeyFiles(path)
    path.chmod(0o644)

    keys.current()

    assert "chmod 600" in caplog.text


def test_the_validity_of_a_key_is_read_again(write: Write, tmp_path: Path) -> None:
    write("keys/2026.key", HEX)
    keys = SharedKeyFiles(tmp_path / "keys")
    write("keys/validity.json", json.dumps({"2026": {"not_after": "2026-12-01"}}))

    assert keys.current().keys[0].not_after == 1_796_083_200
