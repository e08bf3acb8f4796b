"""The sessions of the UI, in Redis (docs/decisions/0018): an API key is exchanged once for a random token."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import NamedTuple

import redis

from api.access.session_request import digest_of_token
from api.http.errors import InvalidApiKey
from store.scripts import Scripts

LUA = Path(__file__).parent / "lua"

IDLE_S = 12 * 3600
"""A session ends this long after its last use."""

ADMIN_IDLE_S = 30 * 60
"""Its admin part ends this long after its last use."""

LINK_S = 5 * 60
MAX_SESSIONS = 20
"""The most sessions of one key."""

TOKEN_BYTES = 32


class UsedSession(NamedTuple):
    """A session at its use: the digest of its API key, and whether it has its admin part."""

    key: str
    as_admin: bool


class SessionStore:
    """Begins, uses and ends sessions. Every method raises `StorageUnavailable` or `StorageFull`."""

    def __init__(self, client: redis.Redis, prefix: str) -> None:
        self.scripts = Scripts(client, prefix, LUA)

    def begin(self, key: str, *, as_admin: bool, earlier: str | None = None) -> str:
        """Begin a session of the API key with this digest; returns its token.

        `earlier` is the token of the session that the same browser had: it ends.
        """
        return self._begin(key, "", as_admin, earlier)[0]

    def begin_by_link(self, link: str, earlier: str | None = None) -> tuple[str, str]:
        """Use up the link with this token, and begin a session with its admin part.

        Returns the session's token and the digest of the API key. Raises `InvalidApiKey` (link_used).
        """
        token, key = self._begin("", digest_of_token(link), True, earlier)
        if not key:
            message = (
                "this sign-in link was already used or is older than 5 minutes: run `stoker ui` for another"
            )
            raise InvalidApiKey(message, code="link_used")
        return token, key

    def _begin(self, key: str, link: str, as_admin: bool, earlier: str | None) -> tuple[str, str]:
        token = secrets.token_urlsafe(TOKEN_BYTES)
        before = digest_of_token(earlier) if earlier else ""
        reply = self.scripts.run(
            "begin_session",
            session=digest_of_token(token),
            key=key,
            link=link,
            as_admin=int(as_admin),
            idle_us=IDLE_S * 1_000_000,
            max_sessions=MAX_SESSIONS,
            earlier=before,
        )
        return token, reply[0].decode() if reply else ""

    def use(self, token: str, *, renews: bool = True) -> tuple[str, UsedSession]:
        """Use the session with this token; returns its digest, and the session.

        The use is recorded, so that the session lives on, unless `renews` is False.
        Raises `InvalidApiKey` (session_ended).
        """
        digest = digest_of_token(token)
        reply = self.scripts.run(
            "use_session",
            session=digest,
            idle_us=IDLE_S * 1_000_000,
            admin_idle_us=ADMIN_IDLE_S * 1_000_000,
            renews=int(renews),
        )
        if not reply:
            raise InvalidApiKey("this session has ended: sign in again", code="session_ended")
        return digest, UsedSession(reply[0].decode(), bool(reply[1]))

    def end(self, token: str) -> bool:
        """End the session with this token everywhere; False if there was none."""
        return bool(self.scripts.run("end_session", session=digest_of_token(token)))

    def make_link(self, key: str) -> str:
        """Make a link of the API key with this digest, in place of its earlier one; returns its token."""
        token = secrets.token_urlsafe(TOKEN_BYTES)
        self.scripts.run(
            "make_sign_in_link", link=digest_of_token(token), key=key, valid_us=LINK_S * 1_000_000
        )
        return token
