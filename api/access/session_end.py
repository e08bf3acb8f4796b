"""Ends a session for its own person or key."""

from __future__ import annotations

from api.access.authority import authority_of_person
from api.access.session_store import ListedSession, SessionStore
from api.services import AppServices
from governance.audit import AuditLog


def end_for_owner(services: AppServices, session: ListedSession) -> None:
    """End a session that its person or key ends, by a sign-out or in the list of the own ones.

    A person's is recorded, as its sign-in was. A key's is not: it can begin any number of sessions.
    Raises `StorageUnavailable`.
    """
    person = session.person
    if services[SessionStore].end_by_id(session.id) and person is not None:
        detail = {"tenant": person.tenant, "address": session.browser.address}
        event = authority_of_person(person).event("end_session", person.actor, "done", detail)
        services[AuditLog].record(event)
