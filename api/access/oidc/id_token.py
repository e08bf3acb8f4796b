"""Checks an ID token (OpenID Connect Core 1.0, 3.1.3.7): its signature, and for whom and when it is valid.

joserfc parses and verifies it; what is accepted is decided here: signatures by public keys only (neither
`none` nor HMAC), and no encryption.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import orjson
from joserfc import jws
from joserfc.errors import JoseError
from joserfc.jwk import ECKey, JWKRegistry, OKPKey, RSAKey
from joserfc.jwt import JWTClaimsRegistry

from api.access.oidc.errors import SignInRefused

ALGORITHMS: Mapping[str, str] = {
    **dict.fromkeys(("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"), "RSA"),
    **dict.fromkeys(("ES256", "ES384", "ES512"), "EC"),
    **dict.fromkeys(("EdDSA", "Ed25519"), "OKP"),
}
"""The algorithms of signatures that are accepted, with the types of their keys."""

MAX_TOKEN_BYTES = 65_536
MAX_KEYS = 64
MAX_TRIED_KEYS = 8
MIN_RSA_BITS, MAX_RSA_BITS = 2048, 8192  # with a larger one a signature takes long to check
LEEWAY_S = 60
"""By so much the clocks of the provider and of this host may differ."""

MAX_AGE_S = 600
"""A token that was issued longer ago is refused: it is of another sign-in."""

MAX_SUBJECT = 255  # OpenID Connect Core 1.0, 2


@dataclass(frozen=True, slots=True)
class Expected:
    """What the claims of a token have to be."""

    issuer: str
    client_id: str
    nonce: str


class UnknownKey(SignInRefused):
    """Raised when none of the known keys has signed the token: the provider may have a new one."""


def verify_id_token(
    token: str, keys: Iterable[Mapping[str, Any]], expected: Expected, now: Callable[[], float] = time.time
) -> dict[str, Any]:
    """The claims of a token; `keys` are the provider's, as JSON objects. Raises `SignInRefused`."""
    if len(token) > MAX_TOKEN_BYTES or not token.isascii():
        raise SignInRefused(f"the provider's token has more than {MAX_TOKEN_BYTES} bytes or is not ASCII")
    try:
        header = jws.extract_compact(token.encode()).headers()
    except (JoseError, ValueError, TypeError, AttributeError) as error:
        raise SignInRefused("the provider's token is not a signed JSON Web Token") from error
    algorithm = header.get("alg")
    if not isinstance(algorithm, str) or algorithm not in ALGORITHMS:
        raise SignInRefused(
            f"the provider's token is signed by an algorithm that is not accepted; set one of"
            f" {', '.join(ALGORITHMS)} at the provider"
        )
    claims = _claims(_payload(token, algorithm, _candidates(keys, header.get("kid"), algorithm)))
    _check(claims, expected, now())
    return claims


def _candidates(
    keys: Iterable[Mapping[str, Any]], kid: object, algorithm: str
) -> list[RSAKey | ECKey | OKPKey]:
    """The keys that may have signed the token. Raises `UnknownKey`."""
    found: list[RSAKey | ECKey | OKPKey] = []
    for raw in keys:
        fits = raw.get("kty") == ALGORITHMS[algorithm] and raw.get("use", "sig") == "sig"
        if not fits or raw.get("alg", algorithm) != algorithm or (kid is not None and raw.get("kid") != kid):
            continue
        try:
            key = JWKRegistry.import_key(dict(raw))
        except (JoseError, ValueError, TypeError, KeyError):
            continue  # a damaged key among others must not stop the sign-in
        if isinstance(key, RSAKey) and not MIN_RSA_BITS <= key.raw_value.key_size <= MAX_RSA_BITS:
            continue
        if isinstance(key, RSAKey | ECKey | OKPKey):
            found.append(key)
    if not found:
        raise UnknownKey("the provider has no key that could have signed its token")
    return found[:MAX_TRIED_KEYS]


def _payload(token: str, algorithm: str, keys: Iterable[RSAKey | ECKey | OKPKey]) -> bytes:
    for key in keys:
        try:
            return jws.deserialize_compact(token, key, algorithms=[algorithm]).payload
        except (JoseError, ValueError, TypeError):
            continue
    raise UnknownKey("the signature of the provider's token is not valid")


def _claims(payload: bytes) -> dict[str, Any]:
    try:
        claims = orjson.loads(payload)
    except orjson.JSONDecodeError:
        claims = None
    if not isinstance(claims, dict):
        raise SignInRefused("the provider's token holds no JSON object")
    return claims


def _check(claims: dict[str, Any], expected: Expected, now: float) -> None:
    registry = JWTClaimsRegistry(
        now=int(now),
        leeway=LEEWAY_S,
        iss={"essential": True, "value": expected.issuer},
        aud={"essential": True, "value": expected.client_id},
        sub={"essential": True},
        exp={"essential": True},
        iat={"essential": True},
        nonce={"essential": True, "value": expected.nonce},
    )
    try:
        registry.validate(claims)
    except JoseError as error:
        raise SignInRefused(f"the provider's token is not valid: {error.description}") from error
    audiences = claims["aud"] if isinstance(claims["aud"], list) else [claims["aud"]]
    azp = claims.get("azp", expected.client_id if len(audiences) == 1 else None)
    if azp != expected.client_id:
        raise SignInRefused("the provider's token was issued for another client (azp)")
    if claims["nonce"] != expected.nonce:  # a list that contains it is not the nonce
        raise SignInRefused("the provider's token belongs to another sign-in (nonce)")
    if not _is_subject(claims["sub"]):
        raise SignInRefused(f"the subject of the provider's token must have 1 to {MAX_SUBJECT} characters")
    if now - claims["iat"] > MAX_AGE_S:
        raise SignInRefused("the provider's token is too old; check the clocks of both hosts")


def _is_subject(value: object) -> bool:
    return isinstance(value, str) and 0 < len(value) <= MAX_SUBJECT and value.isprintable()
