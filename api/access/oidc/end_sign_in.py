"""Ends a sign-in: exchanges the provider's answer for the session of a person."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

from api.access.authenticator import Authenticator
from api.access.authority import authority_of_person
from api.access.caller import Identity
from api.access.oidc.claims import described, person_of
from api.access.oidc.errors import ProviderUnavailable, SignInRefused
from api.access.oidc.provider import OidcProvider
from api.access.oidc.provider_requests import TIMEOUT_S
from api.access.oidc.sign_in_store import SignIn, SignInStore
from api.access.person import Person
from api.access.session_store import Browser, SessionStore, UsedSession
from api.http.errors import InvalidApiKey, NotFound
from api.services import AppServices
from governance.audit import AuditLog
from store.errors import StokerError

logger = logging.getLogger("api")

LONGEST_WAIT_S = 4 * TIMEOUT_S
"""Of the requests for the addresses, the token and the keys, twice."""

Result = TypeVar("Result")


def end_sign_in(
    services: AppServices,
    answer: Mapping[str, Any],
    cookie: str | None,
    earlier: str | None,
    browser: Browser,
) -> tuple[str, Identity, SignIn]:
    """Begin the session of the person whom the provider's answer names.

    `cookie` is the one with which the sign-in began, `earlier` the token of the browser's session,
    which ends. Returns the session's token, the identity, and the sign-in as it began. Raises `NotFound`,
    `SignInRefused`, which is logged, and `ProviderUnavailable`; their details have what the sign-in wanted.
    """
    provider = configured_provider(services)
    try:
        sign_in = services[SignInStore].open(answer["state"], cookie)
        with _wanted_added(sign_in):
            claims = _exchanged(services, provider, answer, sign_in)
    except SignInRefused as error:
        # not by the line below: anyone can send such an answer, and the log bounds what a line of code writes
        logger.warning("a sign-in was refused (%s): %s", error.code, error.message)
        raise
    with _wanted_added(sign_in):
        try:
            person = person_of(claims, provider.settings)
            identity = _identity(services, person)
            services[SignInStore].use(sign_in)  # not before: what anyone can send must not fill Redis
        except SignInRefused as error:
            who = described(claims, provider.settings)
            logger.warning("a sign-in was refused (%s): %s (%s)", error.code, error.message, who)
            raise
        services[AuditLog].record(authority_of_person(person).event("sign_in", person.actor, "done", {}))
        token = services[SessionStore].begin_of_person(
            person, provider.settings.session_s, earlier, browser, as_admin=sign_in.as_admin
        )
    return token, identity, sign_in


def _exchanged(
    services: AppServices, provider: OidcProvider, answer: Mapping[str, Any], sign_in: SignIn
) -> dict[str, Any]:
    """The verified claims of the person whom the provider's answer names."""
    provider.check_issuer(answer.get("iss"))
    code = answer.get("code")
    if code is None:
        raise SignInRefused(_refusal(answer.get("error")), param="oidc.error")
    exchange = provider.exchange(code, sign_in.redirect_url, sign_in.verifier, sign_in.nonce)
    return wait_for(services, exchange)


@contextmanager
def _wanted_added(sign_in: SignIn) -> Iterator[None]:
    """Add to an error the page and the admin part that the sign-in wanted, for the next attempt."""
    try:
        yield
    except StokerError as error:
        error.details |= sign_in.wanted
        raise


def configured_provider(services: AppServices) -> OidcProvider:
    """The provider. Raises `NotFound` without one."""
    provider = services[OidcProvider]
    if not provider.is_configured:
        raise NotFound("this platform has no OpenID Connect provider (oidc.issuer): sign in with a key")
    return provider


def wait_for(services: AppServices, request: Coroutine[Any, Any, Result]) -> Result:
    """The result of a coroutine on the event loop, for which this thread waits."""
    future = asyncio.run_coroutine_threadsafe(request, services.loop)
    try:
        return future.result(LONGEST_WAIT_S)
    except TimeoutError:
        future.cancel()
        raise ProviderUnavailable("the provider answers too slowly; try again", retry_after_s=5) from None


def _identity(services: AppServices, person: Person) -> Identity:
    try:
        return services[Authenticator].identity_of_session(UsedSession(person.id, True, person), {})
    except InvalidApiKey:
        raise SignInRefused(
            f"your tenant {person.tenant} does not exist; ask an administrator to add it"
        ) from None


def _refusal(error: str | None) -> str:
    if error == "access_denied":
        return "the provider refused this sign-in, or you cancelled it"
    return f"the provider did not sign you in ({error or 'it sent no code'})"
