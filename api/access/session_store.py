"""The sessions of the UI, in Redis (docs/decisions/0018, 0061).

An API key, or the sign-in of a person at the provider, is exchanged once for a random token.
"""

from __future__ import annotations

import secrets
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import redis

from api.access.person import Person, decode_person
from api.access.session_request import digest_of_token
from api.http.errors import InvalidApiKey
from config.commands import with_runnable_commands
from store.errors import StorageFull, StorageUnavailable
from store.scripts import Scripts

LUA = Path(__file__).parent / "lua"

IDLE_S = 12 * 3600
"""A session ends this long after its last use."""

ADMIN_IDLE_S = 30 * 60
"""Its admin part ends this long after its last use."""

LINK_S = 5 * 60
MAX_SESSIONS = 20
"""The most sessions of one key, and of one person."""

MAX_LISTED = 1000
MAX_AGENT = 256

TOKEN_BYTES = 32


class UsedSession(NamedTuple):
    """A session at its use: the digest of its API key, and whether it has its admin part.

    For a person's session `key` is the person's id.
    """

    key: str
    as_admin: bool
    person: Person | None = None


class Browser(NamedTuple):
    """Where a session began: the client's address, and its `User-Agent`."""

    address: str = ""
    agent: str = ""


class ListedSession(NamedTuple):
    """A session of a list. `id` is the digest of its token; times are Unix times in seconds."""

    id: str
    key: str
    person: Person | None
    as_admin: bool
    began_at: float
    used_at: float
    browser: Browser


NO_BROWSER = Browser()


class SessionStore:
    """Begins, uses and ends sessions. Every method raises `StorageUnavailable` or `StorageFull`."""

    def __init__(self, client: redis.Redis, prefix: str) -> None:
        self.scripts = Scripts(client, prefix, LUA)

    def begin(
        self, key: str, *, as_admin: bool, earlier: str | None = None, browser: Browser = NO_BROWSER
    ) -> str:
        """Begin a session of the API key with this digest; returns its token.

        `earlier` is the token of the session that the same browser had: it ends.
        """
        return self._begin(key, "", as_admin, earlier, browser)[0]

    def begin_of_person(
        self,
        person: Person,
        longest_s: int,
        earlier: str | None = None,
        browser: Browser = NO_BROWSER,
        *,
        as_admin: bool,
    ) -> str:
        """Begin a session of a person, which ends after `longest_s` in any case; returns its token."""
        return self._begin(person.id, "", as_admin, earlier, browser, person=person, longest_s=longest_s)[0]

    def begin_by_link(
        self, link: str, earlier: str | None = None, browser: Browser = NO_BROWSER
    ) -> tuple[str, str]:
        """Use up the link with this token, and begin a session with its admin part.

        Returns the session's token and the digest of the API key. Raises `InvalidApiKey` (link_used).
        """
        token, key = self._begin("", digest_of_token(link), True, earlier, browser)
        if not key:
            message = (
                "this sign-in link is not valid: it was used, replaced by a later one, is older than 5"
                " minutes, or was not copied whole; run `stoker ui` for another"
            )
            raise InvalidApiKey(with_runnable_commands(message), code="link_used")
        return token, key

    def _begin(  # noqa: PLR0913 - the arguments of one script
        self,
        key: str,
        link: str,
        as_admin: bool,
        earlier: str | None,
        browser: Browser,
        *,
        person: Person | None = None,
        longest_s: int | None = None,
    ) -> tuple[str, str]:
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
            person=b"" if person is None else person.encode(),
            ends_us="" if longest_s is None else longest_s * 1_000_000,
            address=browser.address,
            agent=browser.agent[:MAX_AGENT],
        )
        return token, reply[0].decode() if reply else ""

    def use(self, token: str, *, renews: bool = True) -> tuple[str, UsedSession]:
        """Use the session with this token; returns its digest, and the session.

        The use is recorded, so that the session lives on, unless `renews` is False or Redis refuses writes.
        Raises `InvalidApiKey` (session_ended).
        """
        digest = digest_of_token(token)
        reply = self.scripts.run_or_read(
            "use_session" if renews else "read_session",
            "read_session",
            session=digest,
            idle_us=IDLE_S * 1_000_000,
            admin_idle_us=ADMIN_IDLE_S * 1_000_000,
        )
        if not reply:
            raise InvalidApiKey("this session has ended: sign in again", code="session_ended")
        return digest, UsedSession(reply[0].decode(), bool(reply[1]), _person(reply[2]))

    def end(self, token: str) -> bool:
        """End the session with this token everywhere; False if there was none."""
        return self.end_by_id(digest_of_token(token))

    def drop(self, token: str) -> None:
        """End a session whose key or person may not call any more.

        While Redis cannot be written it stays, and each use of it is refused all the same.
        """
        with suppress(StorageFull, StorageUnavailable):
            self.end(token)

    def end_by_id(self, id: str) -> bool:
        """End the session with this id (the digest of its token) everywhere; False if there was none."""
        return bool(self.scripts.run("end_session", session=id))

    def listed(self, key: str = "") -> list[ListedSession]:
        """The sessions of the key with this digest or the person with this id, "" for all.

        The one that was used last comes first; at most `MAX_LISTED`.
        """
        return self.counted(key)[1]

    def found(self, id: str) -> ListedSession | None:
        """The session with this id, among however many; None if there is none."""
        return next(iter(self.counted(id=id)[1]), None) if id else None

    def counted(self, key: str = "", id: str = "") -> tuple[int, list[ListedSession]]:
        """How many sessions there are, and those that `listed` returns; of these that with the id alone."""
        total, *rows = self.scripts.run(
            "list_sessions",
            key=key,
            id=id,
            idle_us=IDLE_S * 1_000_000,
            admin_idle_us=ADMIN_IDLE_S * 1_000_000,
            limit=MAX_LISTED,
        )
        return int(total), [
            ListedSession(
                id.decode(),
                owner.decode(),
                _person(person),
                bool(as_admin),
                int(began_us) / 1e6,
                int(used_us) / 1e6,
                Browser(address.decode(), agent.decode(errors="replace")),
            )
            for id, owner, began_us, used_us, as_admin, address, agent, person in rows
        ]

    def make_link(self, key: str) -> str:
        """Make a link of the API key with this digest, in place of its earlier one; returns its token."""
        token = secrets.token_urlsafe(TOKEN_BYTES)
        self.scripts.run(
            "make_sign_in_link", link=digest_of_token(token), key=key, valid_us=LINK_S * 1_000_000
        )
        return token


def _person(text: bytes) -> Person | None:
    return decode_person(text) if text else None
