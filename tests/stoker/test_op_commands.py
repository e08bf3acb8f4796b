"""`stoker op`: keys and approvals of operations."""

from __future__ import annotations

import json
import stat
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from config.load import load_settings
from config.settings import GovernanceRule, Signer
from config.sources import deep_merge
from governance.op_tokens.key_files import read_shared_keys
from governance.op_tokens.private_files import KeyFileError
from governance.op_tokens.refusal import Refused
from governance.op_tokens.shared_keys import SharedKeys
from governance.op_tokens.signer_keys import is_signature_of, read_signer_key
from governance.op_tokens.signing import attest, new_payload
from governance.op_tokens.verification import Expected, VerifiedOpToken, verify
from stoker.cli import cli

BODY = {"modelId": "org/model", "maxContextLength": 4096}


def run(*words: str | Path, input: str | None = None) -> Result:
    return CliRunner().invoke(cli, [str(word) for word in words], input=input)


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_key_of_a_signer_is_made_with_the_line_for_the_configuration(tmp_path: Path) -> None:
    file = tmp_path / "alice.pem"

    result = run("op", "keygen", file, "--id", "laptop")

    assert result.exit_code == 0, result.output
    assert mode_of(file) == 0o600
    (tmp_path / "local.json").write_text(result.stdout)
    (key,) = load_settings(tmp_path, {}).governance.signers["alice"].public_keys
    assert key.id == "laptop"
    assert is_signature_of(key.key, read_signer_key(file).sign(b"text"), b"text")
    assert not is_signature_of(key.key, read_signer_key(file).sign(b"text"), b"other text")


def test_a_shared_key_has_256_random_bits_and_is_printed_as_a_variable(tmp_path: Path) -> None:
    files = [tmp_path / "one.key", tmp_path / "two.key"]

    results = [run("op", "keygen", "--hmac", file) for file in files]

    assert [result.stdout for result in results] == [f"VERIFIED_OP_TOKEN_KEY_PATH={file}\n" for file in files]
    assert all(mode_of(file) == 0o600 for file in files)
    assert len({bytes.fromhex(file.read_text()) for file in files}) == 2
    assert all(len(bytes.fromhex(file.read_text())) == 32 for file in files)


def test_a_key_is_never_overwritten(tmp_path: Path) -> None:
    file = tmp_path / "alice.pem"
    file.write_text("precious")

    for words in ((), ("--hmac",)):
        result = run("op", "keygen", file, *words)

        assert result.exit_code == 1
        assert result.stderr == (
            f"Error: {file} exists already, and a key is never overwritten: choose another path\n"
        )
    assert file.read_text() == "precious"


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("a b.pem",), "'a b' does not match"),
        (("a.pem", "--signer", "аlice"), "does not match"),  # noqa: RUF001 - a Cyrillic letter
        (("a.pem", "--id", "a/b"), "does not match"),
        (("a.key", "--hmac", "--signer", "alice"), "--signer and --id are for a signer's key"),
        (("missing/a.pem",), "cannot be created: No such file or directory"),
    ],
)
def test_a_wrong_call_of_keygen_is_refused_and_makes_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], expected: str
) -> None:
    monkeypatch.chdir(tmp_path)

    result = run("op", "keygen", *words)

    assert result.exit_code != 0
    assert expected in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_file_without_a_private_key_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "alice.pem"
    file.write_text("-----BEGIN PRIVATE KEY-----\nnonsense\n-----END PRIVATE KEY-----\n")
    file.chmod(0o600)

    with pytest.raises(KeyFileError, match="has no private Ed25519 key"):
        read_signer_key(file)


def test_the_output_of_keygen_is_one_json_object(tmp_path: Path) -> None:
    output = json.loads(run("op", "keygen", tmp_path / "k", "--signer", "bob").stdout)

    assert list(output["governance"]["signers"]) == ["bob"]


# ---- stoker op sign


@dataclass
class Keys:
    """The files of the signers alice and bob and of the shared key, and the platform's view of them."""

    folder: Path
    signers: Mapping[str, Signer]
    shared: SharedKeys

    def file(self, name: str) -> Path:
        return self.folder / name


@pytest.fixture
def keys(tmp_path: Path) -> Keys:
    folder = tmp_path / "keys"
    folder.mkdir()
    local: dict[str, Any] = {}
    for name in ("alice", "bob"):
        local = deep_merge(local, json.loads(run("op", "keygen", folder / f"{name}.pem").stdout))
    run("op", "keygen", "--hmac", folder / "op.key")
    (tmp_path / "local.json").write_text(json.dumps(local))
    signers = load_settings(tmp_path, {}).governance.signers
    return Keys(folder, signers, read_shared_keys(folder / "op.key"))


def sign(*words: str | Path, body: object = BODY, operation: str = "model-load") -> Result:
    return run("op", "sign", operation, "-", *words, input=json.dumps(body))


def verified(
    keys: Keys, output: str, mode: str, operation: str = "model-load", **more: Any
) -> VerifiedOpToken:
    body = json.loads(output)
    values = {
        "model": body.get("modelId"),
        "scope": None,
        "tenant": None,
        "tag": None,
        "runner_id": "runner_1",
    }
    expected = Expected(operation, body=body, **values | more)
    rule = GovernanceRule(mode, 2)
    return verify(body["verifiedOpToken"], expected, keys.shared, rule, keys.signers, time.time())


def test_a_load_is_signed_by_one_after_the_other(keys: Keys) -> None:
    first = sign("--key", keys.file("alice.pem"))
    assert first.exit_code == 0, first.output
    assert first.stderr == "Signed: model-load modelId='org/model' maxContextLength='4096'\n"
    with pytest.raises(Refused, match="too_few_signers"):
        verified(keys, first.stdout, "signed")

    second = sign("--key", keys.file("bob.pem"), body=json.loads(first.stdout))

    assert verified(keys, second.stdout, "signed").signers == ("alice", "bob")
    assert {name: json.loads(second.stdout)[name] for name in BODY} == BODY


def test_a_flush_is_attested_with_the_shared_key(keys: Keys) -> None:
    body = {"scope": "tag", "tenantId": "acme", "tag": "t-1", "modelId": None}
    words = ("--hmac", keys.file("op.key"), "--as", "admin1", "--as", "admin2", "--runner", "runner_1")

    result = sign(*words, body=body, operation="cache-flush")

    assert result.stderr == "Signed: cache-flush on runner_1 scope='tag' tenantId='acme' tag='t-1'\n"
    bound = {"scope": "tag", "tenant": "acme", "tag": "t-1"}
    token = verified(keys, result.stdout, "attested", "cache-flush", **bound)
    assert (token.key_id, token.signers) == ("op", ("admin1", "admin2"))
    with pytest.raises(Refused, match="wrong_runner"):
        verified(keys, result.stdout, "attested", "cache-flush", **bound, runner_id="runner_2")


def test_each_signature_has_a_fresh_nonce(keys: Keys) -> None:
    bodies = [json.loads(sign("--key", keys.file("alice.pem")).stdout) for _ in range(2)]

    assert len({body["verifiedOpToken"]["opToken"]["nonce"] for body in bodies}) == 2


def test_a_body_that_was_changed_since_the_first_signature_is_not_signed(keys: Keys) -> None:
    signed = json.loads(sign("--key", keys.file("alice.pem"), "--runner", "runner_1").stdout)
    bob = ("--key", keys.file("bob.pem"))
    token = signed["verifiedOpToken"]
    old = new_payload("model-load", BODY, int(time.time()) - 400)
    cases: list[tuple[Any, tuple[Any, ...], str]] = [
        (signed | {"evictModel": "other"}, bob, "the body is not the one that was signed before"),
        (signed | {"verifiedOpToken": "eyJ"}, bob, "is not an object"),
        (signed | {"verifiedOpToken": {**token, "x": 1}}, bob, "malformed"),
        (signed, (*bob, "--runner", "runner_2"), "is not bound to the platform runner_2"),
        (signed, (*bob, "--signer", "Alice"), "Alice has already signed it"),
        (signed, ("--hmac", keys.file("op.key")), "already has a verifiedOpToken"),
        (BODY | {"verifiedOpToken": attest(old, keys.shared.keys[0])}, bob, "mode attested"),
        (
            BODY | {"verifiedOpToken": {"opToken": old, "signatures": token["signatures"]}},
            bob,
            "only 300 s",
        ),
        ([], bob, "the body must be a JSON object"),
        ({"a": 2**60}, bob, "no canonical form"),
    ]
    for body, words, expected in cases:
        result = sign(*words, body=body)
        assert (result.exit_code, result.stdout) == (1, ""), expected
        assert expected in result.stderr
    result = sign(*bob, body=signed, operation="model-unload")
    assert "the body is signed for model-load, not for model-unload" in result.stderr


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ((), "give --key with the file of a signer, or --hmac"),
        (("--key", "a.pem", "--hmac", "b.key"), "give --key with the file of a signer, or --hmac"),
        (("--hmac", "b.key", "--signer", "alice"), "--signer goes with --key, --as with --hmac"),
        (("--key", "a.pem", "--as", "alice"), "--signer goes with --key, --as with --hmac"),
        (("--key", "missing.pem"), "missing.pem does not exist"),
        (("--hmac", "b.key", "--as", "a b"), "does not match"),
    ],
)
def test_a_wrong_call_of_sign_is_refused(words: tuple[str, ...], expected: str) -> None:
    result = sign(*words)

    assert result.exit_code != 0
    assert expected in result.stderr


def test_a_body_with_two_readings_is_not_signed(keys: Keys) -> None:
    result = run("op", "sign", "model-load", "-", "--key", keys.file("alice.pem"), input='{"a": 1, "a": 2}')

    assert result.stderr == "Error: the body is not accepted: a key appears twice in one object\n"


def test_a_private_key_that_others_can_read_is_not_used(keys: Keys) -> None:
    keys.file("alice.pem").chmod(0o604)

    assert "run `chmod 600 " in sign("--key", keys.file("alice.pem")).stderr


def test_the_text_of_a_body_does_not_reach_the_terminal_as_control_characters(keys: Keys) -> None:
    result = sign("--key", keys.file("alice.pem"), body={"modelId": "m", "evictModel": "\x1b[2J\r"})

    assert "\x1b" not in result.stderr
    assert "\r" not in result.stderr
