"""The sign-ins for which a browser is at the provider: each ends once, in the browser in which it began.

The browser holds a secret in a cookie, from which the PKCE verifier and the nonce follow; Redis holds the
digests of the secret and of the state alone, so that neither of the two places suffices to end a sign-in.
"""

from __future__ import annotations

import base64
import hmac
import ipaddress
import secrets
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import redis

from api.access.oidc.errors import SignInRefused
from api.access.session_request import digest_of_token
from api.http.errors import ApiError
from store.scripts import Scripts

LUA = Path(__file__).parent.parent / "lua"

VALID_S = 10 * 60
MAX_OF_ADDRESS, MAX_SIGN_INS = 200, 10_000
SECRET_BYTES = 32
IPV6_NETWORK = 64


@dataclass(frozen=True, slots=True)
class SignIn:
    """What a browser keeps of a sign-in (`secret`), and what it passes through the provider (`state`).

    `redirect_url` is where the provider sends it, `to` the page to return to; `as_admin`: the session has its
    admin part.
    """

    secret: str
    state: str
    redirect_url: str
    to: str
    as_admin: bool

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
    """Begins and uses sign-ins. Every method raises `StorageUnavailable` or `StorageFull`."""

    def __init__(self, client: redis.Redis, prefix: str) -> None:
        self.scripts = Scripts(client, prefix, LUA)

    def begin(self, redirect_url: str, to: str, address: str | None, *, as_admin: bool) -> SignIn:
        """Begin a sign-in of a client with this address. Raises `ApiError` (server_busy)."""
        secret, state = (secrets.token_urlsafe(SECRET_BYTES) for _ in range(2))
        begun = SignIn(secret, state, redirect_url, to, as_admin)
        accepted = self.scripts.run(
            "begin_sign_in",
            sign_in=digest_of_token(begun.state),
            browser=digest_of_token(begun.secret),
            redirect_url=redirect_url,
            to=to,
            as_admin=int(as_admin),
            address=network_of(address),
            valid_us=VALID_S * 1_000_000,
            max_of_address=MAX_OF_ADDRESS,
            max=MAX_SIGN_INS,
        )
        if not accepted:
            raise ApiError(
                "too many sign-ins are open; try again in a minute", code="server_busy", retry_after_s=60
            )
        return begun

    def use(self, state: str, secret: str | None) -> SignIn:
        """Use up a sign-in. Raises `SignInRefused`."""
        reply = self.scripts.run("use_sign_in", sign_in=digest_of_token(state))
        if not reply:
            raise SignInRefused(
                "this sign-in was used already or is older than 10 minutes: sign in again", param="state"
            )
        browser, redirect_url, to, as_admin = (part.decode() for part in reply)
        if secret is None or not hmac.compare_digest(digest_of_token(secret), browser):
            raise SignInRefused("this sign-in began in another browser: sign in again", param="state")
        return SignIn(secret, state, redirect_url, to, as_admin == "1")


def network_of(address: str | None) -> str:
    """The address, or of IPv6 its network: a client has as many addresses of it as it likes."""
    try:
        parsed = ipaddress.ip_address((address or "").partition("%")[0])
    except ValueError:
        return "unknown"
    if parsed.version == 6 and parsed.ipv4_mapped is None:
        return str(ipaddress.ip_network((parsed, IPV6_NETWORK), strict=False).network_address)
    return str(parsed)


def _derived(secret: str, purpose: str) -> str:
    return _base64url(hmac.new(secret.encode("utf-8", "surrogatepass"), purpose.encode(), "sha256").digest())


def _base64url(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()
