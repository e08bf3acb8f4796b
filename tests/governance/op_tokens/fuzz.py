"""Fuzzes the parser and verifier of opTokens against the reference verifier: `make fuzz-optoken`.

    python -m tests.governance.op_tokens.fuzz [seconds] [folder]

The folder keeps what was found to be interesting, so that the next run begins where this one ended. The first
byte of an input selects what the rest is: a token, a text that is then signed, or choices for a case. The
program ends with an error for any exception but `Refused`, and when the two verifiers differ.
"""

from __future__ import annotations

import hmac
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.governance.op_tokens.cases import RULES, Case, build, compare
from tests.governance.op_tokens.test_mutations import MUTATIONS
from tests.governance.op_tokens.tokens import (
    FORMS,
    KEY,
    NOW,
    as_signed,
    base64url,
    expected,
    mac_of,
    payload,
    signed_payload,
)

SECONDS = 600
FOLDER = Path(".cache/fuzz-optoken")
MAX_BYTES = 4096


class Bytes:
    """Choices that bytes make; after their end, the first one of each."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def below(self, limit: int) -> int:
        size = 1 if limit <= 256 else 3
        chosen = int.from_bytes(self.data[self.at : self.at + size], "big") % limit
        self.at += size
        return chosen


def bare_text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def signed_text(data: bytes) -> str:
    """The text of a token with these bytes as its opToken."""
    source = bare_text(data)
    return f'{{"opToken": {source}, "signature": "{mac_of(source.encode())}"}}'


def signed_jwt(data: bytes) -> str:
    """A JWT with the header and the claims before and behind the first zero byte."""
    head, _, body = data.partition(b"\0")
    signed = f"{base64url(head)}.{base64url(body)}"
    return f"{signed}.{base64url(hmac.digest(KEY.secret, signed.encode(), 'sha256'))}"


def parsed(data: bytes) -> Any:
    """The value of a JSON text, as a lenient parser has it; None for any other."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


def signed_object(data: bytes) -> Any:
    """A token with a parsed value as its opToken."""
    value = parsed(data)
    return {"opToken": value, "signature": mac_of(json.dumps(value, sort_keys=True).encode())}


TOKENS = (bare_text, base64url, signed_text, signed_jwt, parsed, signed_object)
"""What the rest of an input may be, by its first byte: 1, 2, ...; 0 is a case by choices."""


def check_input(data: bytes) -> bool:
    """Compare the verifiers on one input. Returns whether it was accepted."""
    if not data:
        return False
    kind = data[0] % (len(TOKENS) + 1)
    if kind == 0:
        return compare(build(Bytes(data[1:])))
    rule = RULES[2 if kind in (1, 2, 5) and data[0] >= 128 else 0]
    return compare(Case(TOKENS[kind - 1](data[1:]), expected(), rule, NOW))


def run_input(data: bytes) -> None:
    """Compare the verifiers on one input; the fuzzer wants no return value."""
    check_input(data)


def seeds() -> Iterator[bytes]:
    """Inputs to begin with: a valid token of each form, and the changed ones."""
    yield bytes(40)
    for form in FORMS.values():
        token = form(payload())
        yield (b"\5" + json.dumps(token).encode()) if isinstance(token, dict) else b"\1" + token.encode()
    for source in (json.dumps(payload()), json.dumps(payload(bodyHash="0" * 64, runnerId="runner_1"))):
        yield b"\3" + source.encode()
        yield b"\4" + b'{"alg": "HS256", "typ": "JWT"}\0' + source.encode()
        yield b"\6" + source.encode()
    signed = json.dumps(as_signed(signed_payload(), "alice", "bob")).encode()
    yield from (bytes([128 + 5 - 128 % 7]) + signed, bytes([128 + 8 - 128 % 7]) + signed)
    for make in MUTATIONS.values():
        token = make()
        if isinstance(token, str) and len(token) < MAX_BYTES:
            yield b"\1" + token.encode("utf-8", "surrogatepass")


def main() -> None:
    """Run the fuzzer."""
    try:
        import atheris
    except ImportError:
        print("atheris runs on Linux with Python below 3.14 only: opTokens are not fuzzed here")
        return
    seconds = int(sys.argv[1]) if len(sys.argv) > 1 else SECONDS
    folder = Path(sys.argv[2]) if len(sys.argv) > 2 else FOLDER
    corpus = folder / "corpus"
    corpus.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(seeds()):
        (corpus / f"seed-{number}").write_bytes(seed)
    atheris.instrument_all()
    options = [f"-max_total_time={seconds}", f"-max_len={MAX_BYTES}", "-timeout=20"]
    options += ["-verbosity=0", "-print_final_stats=1"]
    atheris.Setup([sys.argv[0], *options, f"-artifact_prefix={folder}/", str(corpus)], run_input)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
