"""Twenty changes of a valid token, each refused; and no token raises anything but `Refused`."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from governance.op_tokens.canonical_forms import python_form, rfc8785_form
from governance.op_tokens.refusal import Refused
from tests.governance.op_tokens.tokens import (
    FORMS,
    KEY,
    NOW,
    as_base64url,
    as_jwt,
    as_object,
    as_text,
    base64url,
    check,
    jwt_with,
    mac_of,
    payload,
    text_with,
)

TEXT, JWT = as_text(payload()), as_jwt(payload())
SOURCE = json.dumps(payload())
HEAD, CLAIMS, MAC = JWT.split(".")
NO_ALGORITHM = base64url(b'{"alg": "none"}')
SIGNATURE = mac_of(SOURCE.encode())


def with_source(source: str) -> str:
    """The text with another opToken, and the signature of the valid one."""
    return f'{{"opToken": {source}, "signature": "{SIGNATURE}"}}'


def flipped(text: str, at: int) -> str:
    return text[:at] + chr(ord(text[at]) ^ 1) + text[at + 1 :]


def public_key_as_secret() -> str:
    """A JWT for another algorithm, whose signature is an HMAC."""
    return jwt_with({"alg": "RS256", "typ": "JWT"}, payload())


MUTATIONS: dict[str, Callable[[], Any]] = {
    "one bit of the model": lambda: with_source(SOURCE.replace("70B", "71B")),
    "one bit of the signature": lambda: TEXT.replace(SIGNATURE, flipped(SIGNATURE, 5)),
    "one bit of a jwt's claims": lambda: f"{HEAD}.{flipped(CLAIMS, 12)}.{MAC}",
    "one bit of a jwt's header": lambda: f"{flipped(HEAD, 9)}.{CLAIMS}.{MAC}",
    "unused bits of base64url": lambda: f"{HEAD}.{CLAIMS}.{MAC[:-1]}{flipped(MAC[-1], 0)}",
    "reordered keys": lambda: with_source(json.dumps(dict(reversed(payload().items())))),
    "sorted keys": lambda: with_source(json.dumps(payload(), sort_keys=True)),
    "less space": lambda: with_source(json.dumps(payload(), separators=(",", ":"))),
    "alg none": lambda: f"{NO_ALGORITHM}.{CLAIMS}.",
    "alg none with a signature": lambda: jwt_with({"alg": "none"}, payload()),
    "another algorithm": lambda: jwt_with({"alg": "HS512", "typ": "JWT"}, payload()),
    "rs256 with an hmac": public_key_as_secret,
    "a critical header": lambda: jwt_with({"alg": "HS256", "crit": ["b64"], "b64": False}, payload()),
    "a duplicate key": lambda: text_with(SOURCE[:-1] + ', "modelId": "other"}'),
    "a duplicate signature": lambda: TEXT[:-1] + f', "signature": "{SIGNATURE}"}}',
    "a duplicate key by an escape": lambda: text_with(SOURCE[:-1] + ', "\\u006dodelId": "other"}'),
    "a look-alike letter": lambda: with_source(SOURCE.replace("meta-llama", "metа-llama")),  # noqa: RUF001
    "a look-alike operation": lambda: text_with(SOURCE.replace("model-load", "model\u2010load")),
    "301 s old": lambda: as_text(payload(issuedAt=NOW - 301)),
    "301 s ahead": lambda: as_text(payload(issuedAt=NOW + 301)),
    "the nonce in another case": lambda: with_source(SOURCE.replace("a1B2", "A1b2")),
    "the signature in another case": lambda: TEXT.replace(SIGNATURE, SIGNATURE.upper()),
    "an unknown field": lambda: text_with(SOURCE[:-1] + ', "admin": true}'),
    "a true date": lambda: text_with(SOURCE.replace(str(NOW), "true")),
    "a date with a fraction": lambda: text_with(SOURCE.replace(str(NOW), f"{NOW}.0")),
    "a date as a text": lambda: text_with(SOURCE.replace(str(NOW), f'"{NOW}"')),
    "a date that is not a number": lambda: text_with(SOURCE.replace(str(NOW), "NaN")),
    "a date of 5,000 digits": lambda: text_with(SOURCE.replace(str(NOW), "1" * 5000)),
    "a lone surrogate": lambda: text_with(SOURCE.replace("70B", "70B\\ud800")),
    "text behind it": lambda: f"{TEXT} {{}}",
    "space before it": lambda: f" {TEXT}",
    "padding in a jwt": lambda: f"{HEAD}.{CLAIMS}.{MAC}=",
    "a line break in base64url": lambda: as_base64url(payload())[:40] + "\n" + as_base64url(payload())[40:],
    "full-width letters in base64url": lambda: as_base64url(payload()).replace("e", "ｅ", 1),  # noqa: RUF001
    "the other alphabet of base64": lambda: JWT.replace("-", "+").replace("_", "/") + "/",
    "no signature": lambda: json.dumps({"opToken": payload()}),
    "an empty signature": lambda: json.dumps({"opToken": payload(), "signature": ""}),
    "a null signature": lambda: {"opToken": payload(), "signature": None},
    "a signature that is no ascii": lambda: {"opToken": payload(), "signature": "é" * 43},
    "half a signature": lambda: TEXT.replace(SIGNATURE, SIGNATURE[:32]),
    "a signature of the whole text": lambda: json.dumps({"opToken": payload(), "signature": mac_of(b"")}),
    "a short nonce": lambda: as_text(payload(nonce="a" * 15)),
    "a long nonce": lambda: as_text(payload(nonce="a" * 65)),
    "a nonce with a line break": lambda: as_text(payload(nonce="a" * 16 + "\n")),
    "a nonce of other digits": lambda: as_text(payload(nonce="\u0661" * 16)),
    "an empty model": lambda: as_text(payload(modelId="")),
    "a model with a control character": lambda: as_text(payload(modelId="a\x00b")),
    "no operation": lambda: as_text(payload(operation=None)),
    "a list of one signer": lambda: as_text(payload(signers=[["admin1", "admin2"]])),
    "signers as a text": lambda: as_text(payload(signers="admin1,admin2")),
    "a signer with a look-alike letter": lambda: as_text(payload(signers=["admin1", "аdmin2"])),  # noqa: RUF001
    "no signers": lambda: as_text(payload(signers=[])),
    "33 signers": lambda: as_text(payload(signers=[f"admin{n}" for n in range(33)])),
    "an opToken as a text": lambda: json.dumps({"opToken": TEXT, "signature": SIGNATURE}),
    "utf-16": lambda: base64url(TEXT.encode("utf-16")),
    "a byte order mark": lambda: base64url(TEXT.encode("utf-8-sig")),
    "bytes that are no utf-8": lambda: base64url(TEXT.encode().replace(b"70B", b"70\xff")),
    "too many bytes": lambda: TEXT + " " * 20_000,
    "100,000 brackets": lambda: "{" + "[" * 100_000,
    "5,000 objects": lambda: '{"opToken":' * 1000,
    "nothing": lambda: "",
    "null": lambda: None,
    "a number": lambda: 7,
    "a list": lambda: [TEXT],
    "two dots": lambda: "..",
    "a jwt in base64url": lambda: base64url(JWT.encode()),
    "a text in a text": lambda: json.dumps(TEXT),
    "an object that is nested": lambda: {"verifiedOpToken": as_object(payload())},
    "bytes": TEXT.encode,
}


@pytest.mark.parametrize("form", FORMS)
def test_the_token_that_is_changed_is_valid(form: str) -> None:
    assert check(FORMS[form](payload()))


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_changed_token_is_refused(name: str) -> None:
    with pytest.raises(Refused):
        check(MUTATIONS[name]())


@pytest.mark.parametrize(
    ("token", "detail"),
    [
        ({"opToken": payload(), "signature": SIGNATURE[:32]}, "signature must have 32 bytes"),
        (f"{HEAD}.{CLAIMS}.{base64url(bytes(31))}", "the signature of the JWT must have 32 bytes"),
        ("a" * 40_000, "verifiedOpToken is too long"),
        (as_text(payload(issuedAt=True)), "opToken.issuedAt must be Unix seconds, an integer"),
        (as_text(payload(signers=[])), "opToken.signers must be a list of 1 to 32 names"),
        (as_text(payload(modelId="a\x1fb")), "opToken.modelId must be a text of 1 to 1024 characters"),
        (as_text(payload(modelId="a\x85b")), "opToken.modelId must be a text of 1 to 1024 characters"),
        (
            {"opToken": payload(tag="\ud800"), "signature": SIGNATURE},
            "opToken.tag must be a text of 1 to 1024 characters",
        ),
        (7, "verifiedOpToken is neither an object nor a string"),
        (None, "verifiedOpToken is missing"),
    ],
)
def test_a_shape_that_is_no_token_is_malformed_whatever_the_rest_is(token: object, detail: str) -> None:
    with pytest.raises(Refused) as caught:
        check(token, now=1)

    assert (caught.value.reason, caught.value.detail) == ("malformed", detail)


@pytest.mark.parametrize("form", ["text", "base64url", "jwt"])
def test_every_flipped_byte_of_a_text_is_refused(form: str) -> None:
    token = FORMS[form](payload())
    for at in range(len(token)):
        for bit in (1, 2, 4, 32):
            changed = token[:at] + chr(ord(token[at]) ^ bit) + token[at + 1 :]
            try:
                check(changed)
            except Refused:
                continue
            assert json.loads(changed) == json.loads(token), "only the space around the members is not signed"


def test_the_order_of_the_keys_of_an_object_is_not_signed() -> None:
    token = as_object(payload())

    assert check(token | {"opToken": dict(reversed(token["opToken"].items()))})


@pytest.mark.parametrize("spaced", [False, True])
def test_the_three_forms_of_an_op_token_are_accepted_in_an_object_and_in_a_text(spaced: bool) -> None:
    fields = payload(modelId='org/modèle \u2028\\ "')
    source = json.dumps(fields, indent=2 if spaced else None)
    javascript = json.dumps(fields, separators=(",", ":"), ensure_ascii=False).encode()
    three = {javascript, python_form(fields), rfc8785_form(fields)}
    others = {
        json.dumps(fields, separators=(",", ":")).encode(),
        json.dumps(fields, sort_keys=True, ensure_ascii=False).encode(),
        json.dumps(dict(reversed(fields.items())), separators=(",", ":"), ensure_ascii=False).encode(),
        json.dumps(fields, indent=4).encode(),
    }
    assert len(three | others | {source.encode()}) == 8

    def accepted(make: Callable[[bytes], Any]) -> set[bytes]:
        found = set()
        for form in three | others | {source.encode()}:
            with suppress(Refused):
                check(make(form), model=fields["modelId"])
                found.add(form)
        return found

    assert accepted(lambda form: {"opToken": fields, "signature": mac_of(form)}) == three
    for encode in (str, lambda text: base64url(text.encode())):
        found = accepted(lambda form: encode(f'{{"opToken": {source}, "signature": "{mac_of(form)}"}}'))  # noqa: B023
        assert found == {*three, source.encode()}, "of a text its bytes, too"


@pytest.mark.parametrize("encode", [base64.b64encode, base64.urlsafe_b64encode])
def test_a_signature_may_be_hex_base64_or_base64url(encode: Callable[[bytes], bytes]) -> None:
    mac = bytes.fromhex(as_object(payload())["signature"])

    assert check({"opToken": payload(), "signature": encode(mac).decode()})
    assert check({"opToken": payload(), "signature": base64url(mac)})


def test_a_jwt_may_have_the_op_token_as_a_claim() -> None:
    assert check(as_jwt({"opToken": payload()}))
    with pytest.raises(Refused, match="malformed"):
        check(as_jwt({"opToken": payload(), "modelId": "other"}))


def test_the_padding_of_base64url_may_be_left_out_of_a_text() -> None:
    for spaces in range(3):
        data = as_text(payload()).replace("{", "{" + " " * spaces, 1).encode()
        padded = base64.urlsafe_b64encode(data).decode()
        assert check(padded)
        assert check(padded.rstrip("="))


def test_a_key_is_never_part_of_a_representation() -> None:
    assert "horse" not in repr(KEY)
