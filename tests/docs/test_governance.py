"""docs/governance.md: its test vectors are accepted, its programs and commands work as printed."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from config.settings import GovernanceRule, Signer, SignerKey
from governance.op_tokens.canonical_forms import SIGNED_PREFIX, javascript_form, python_form, rfc8785_form
from governance.op_tokens.key_files import read_shared_keys
from governance.op_tokens.payload import FIELDS
from governance.op_tokens.shared_keys import SharedKey, SharedKeys
from governance.op_tokens.verification import Expected, VerifiedOpToken, verify
from governance.op_tokens.wire_forms import read_token
from tests.docs.page import DOCS, blocks, code, read, rows, section

PAGE = read("governance.md")
VECTORS: dict[str, Any] = json.loads((DOCS / "op-token-vectors.json").read_text(encoding="utf-8"))
KEYS = SharedKeys((SharedKey("vectors", VECTORS["sharedKey"].encode()),))
SIGNERS = {name: Signer(name, (SignerKey("1", key),)) for name, key in VECTORS["signers"].items()}


def check(token: Any, body: dict[str, Any], keys: SharedKeys, now: float) -> VerifiedOpToken:
    mode = "signed" if isinstance(token, dict) and "signatures" in token else "attested"
    expected = Expected("model-load", body["modelId"], None, None, None, body, "runner_1")
    return verify(token, expected, keys, GovernanceRule(mode, 2), SIGNERS, now)


@pytest.mark.rule("runner/op-token-hmac")
@pytest.mark.parametrize("vector", VECTORS["tokens"], ids=lambda vector: vector["form"])
def test_each_vector_is_accepted_and_has_the_bytes_that_are_signed(vector: dict[str, Any]) -> None:
    token = vector["verifiedOpToken"]

    assert len(check(token, VECTORS["body"], KEYS, VECTORS["now"]).signers) == 2
    received = read_token(token)
    prefix = SIGNED_PREFIX if received.signatures else b""
    assert vector["signed"].encode() in [prefix + signed for signed in received.signed]


def test_the_vectors_cover_all_wire_forms_and_the_three_forms_of_an_op_token() -> None:
    forms = [vector["form"] for vector in VECTORS["tokens"]]
    assert len(forms) == len(set(forms)) == 7
    fields = VECTORS["tokens"][0]["verifiedOpToken"]["opToken"]
    cells = [text for row in rows(section(PAGE, "Wire forms")) for cell in row[1:] for text in code(cell)]
    signatures = [vector["verifiedOpToken"]["signature"] for vector in VECTORS["tokens"][:3]]
    made = (python_form, rfc8785_form, javascript_form)
    forms_of_page = [
        text
        for form, signature in zip(made, signatures, strict=True)
        for text in (form(fields).decode(), signature)
    ]
    assert cells == forms_of_page


def test_every_field_of_an_op_token_is_documented() -> None:
    named = {name for row in rows(section(PAGE, "The opToken")) for name in code(row[0])}
    assert named == set(FIELDS)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the shared key that the page's command makes."""
    run(tmp_path, ["op", "keygen", "--hmac", "op-token.key"])
    return tmp_path


def run(folder: Path, words: list[str]) -> str:
    command = [sys.executable, "-m", "stoker", *words]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout


def test_the_program_of_the_page_makes_a_token_that_is_accepted(folder: Path) -> None:
    (text,) = blocks(PAGE, "python")
    file = folder / "gateway.py"
    file.write_text(text)

    output = subprocess.run(
        [sys.executable, file], cwd=folder, check=True, capture_output=True, text=True
    ).stdout

    body = json.loads(output)
    keys = read_shared_keys(folder / "op-token.key")
    assert check(body["verifiedOpToken"], body, keys, time.time()).signers == ("admin1", "admin2")


def test_the_commands_of_the_page_sign_a_request(folder: Path) -> None:
    commands = [
        line.removeprefix(".venv/bin/stoker ")
        for block in blocks(PAGE, "sh")
        for line in block.splitlines()
        if line.startswith((".venv/bin/stoker op keygen ", ".venv/bin/stoker op sign "))
    ]
    for body, name in re.findall(r"echo '(.*)' > (\S+\.json)", PAGE):
        (folder / name).write_text(body)
    for command in commands:
        words, _, file = command.partition("#")[0].partition(" > ")
        if "--hmac op-token.key" in words and "keygen" in words:
            continue  # the fixture has run it
        output = run(folder, words.split())
        if file:
            (folder / file.strip()).write_text(output)

    token = json.loads((folder / "approved.json").read_text())["verifiedOpToken"]
    assert [one["signer"] for one in token["signatures"]] == ["alice", "bob"]
