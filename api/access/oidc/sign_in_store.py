"""The sign-ins for which a browser is at the provider: each ends once, in the browser in which it began.

An open sign-in is in the browser's cookie alone, which only the platform can read: a secret, from which the
PKCE verifier and the nonce follow, and the digest of the state. So sign-ins that anyone begins need no memory
of the platform, and evict none of others. Redis has the states of those that the provider has ended.
"""

from __future__ import annotations

import base64
import hmac
import secrets
import time
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import orjson
import redis

from api.access.oidc.errors import SignInRefused
from api.access.session_request import digest_of_token
from governance.cache_namespaces import CacheNamespaces
from governance.sealed_texts import UnreadableError, seal, unseal
from store.errors import StorageUnavailable
from store.scripts import Scripts

LUA = Path(__file__).parent.parent / "lua"

VALID_S = 10 * 60
SECRET_BYTES = 32
PURPOSE, OWNER = b"stoker-sign-in-v1\n", b"sign-in"
"""Of the key that seals the cookies, and of what is sealed."""


@dataclass(frozen=True, slots=True)
class SignIn:
    """What the browser keeps of a sign-in (`secret`), and what it passes through the provider (`state`).

    `redirect_url` is where the provider sends it, `to` the page to return to; `as_admin`: the session has its
    admin part.
    """

    secret: str
    state: str
    redirect_url: str
    to: str
    as_admin: bool

    @property
    def wanted(self) -> dict[str, Any]:
        """What a page needs for another attempt."""
        return {"to": self.to, "admin": self.as_admin}

    @property
    def verifier(self) -> str:
        """The PKCE code verifier (RFC 7636, 4.1)."""
        return _derived(self.secret, "verifier")

    @property
    def challenge(self) -> str:
        """Its S256 challenge (RFC 7636, 4.2)."""
        return _base64url(sha256(self.verifier.encode()).digest())

    @property
    def nonce(self) -> str:
        """The nonce of the ID token."""
        return _derived(self.secret, "nonce")


class SignInStore:
    """Begins, opens and uses sign-ins. Every method raises `StorageUnavailable` or `StorageFull`."""

    def __init__(self, client: redis.Redis, prefix: str, namespaces: CacheNamespaces) -> None:
        self.scripts = Scripts(client, prefix, LUA)
        self._namespaces = namespaces

    def begin(self, redirect_url: str, to: str, *, as_admin: bool) -> tuple[SignIn, str]:
        """Begin a sign-in; returns it, and the value of the browser's cookie. Redis is not asked."""
        secret, state = (secrets.token_urlsafe(SECRET_BYTES) for _ in range(2))
        begun = SignIn(secret, state, redirect_url, to, as_admin)
        content = asdict(begun) | {"state": digest_of_token(state), "began_at": time.time()}
        return begun, seal(self._key(), OWNER, orjson.dumps(content).decode())

    def open(self, state: str, cookie: str | None) -> SignIn:
        """The sign-in with this state that began in the browser with this cookie. Raises `SignInRefused`."""
        try:
            content = orjson.loads(unseal(self._key(), OWNER, cookie or ""))
        except UnreadableError:
            raise _other_browser() from None
        if not hmac.compare_digest(digest_of_token(state), content["state"]):
            raise _other_browser()
        age_s = time.time() - content.pop("began_at")
        sign_in = SignIn(**content | {"state": state})
        if age_s >= VALID_S:
            raise _used(sign_in)
        return sign_in

    def use(self, sign_in: SignIn) -> None:
        """Use up a sign-in. Raises `SignInRefused` if it was used before."""
        use = secrets.token_hex(8)
        digest = digest_of_token(sign_in.state)
        if not self.scripts.run("use_sign_in", sign_in=digest, use=use, valid_us=VALID_S * 1_000_000):
            raise _used(sign_in)

    def _key(self) -> bytes:
        key = self._namespaces.derived_key(PURPOSE)
        if key is None:
            raise StorageUnavailable("the platform's secret could not be read yet", retry_after_s=2)
        return key


def _other_browser() -> SignInRefused:
    return SignInRefused("this sign-in began in another browser: sign in again", param="state")


def _used(sign_in: SignIn) -> SignInRefused:
    message = "this sign-in was used already or is older than 10 minutes: sign in again"
    return SignInRefused(message, param="state", details=sign_in.wanted)


def _derived(secret: str, purpose: str) -> str:
    return _base64url(hmac.new(secret.encode("utf-8", "surrogatepass"), purpose.encode(), "sha256").digest())


def _base64url(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()
