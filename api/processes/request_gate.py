"""What an API process decides about a request before it reads its body: sessions, keys, uploads."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from werkzeug.datastructures import EnvironHeaders

from api.access.authenticator import Authenticator
from api.access.session_request import has_session, session_token
from api.access.session_store import SessionStore
from api.files.form import FormRules
from api.files.upload import file_rules
from api.files.upload_sink import Uploads
from api.http.content_encoding import reject_encoding
from api.http.route_access import Access
from api.http.server.body_sink import BodyFlow, BodySink
from api.http.server.rejection import RequestRejected
from api.http.server.request import HttpRequest
from api.inference.audio import routes as audio
from api.inference.images import routes as images
from api.services import AppServices
from config.settings import FileSettings, Settings
from store.errors import StokerError

UPLOADS: Mapping[bytes, Callable[[FileSettings], FormRules]] = {
    b"/v1/files": file_rules,
    **audio.UPLOADS,
    **images.UPLOADS,
}
"""The routes whose bodies go to the disk while they arrive, and the rules of their forms."""


class RequestGate:
    """Checks keys and opens uploads; see `api.http.server.application.RequestGate`."""

    def __init__(self, services: AppServices) -> None:
        self._services = services

    def has_session(self, environ: Mapping[str, Any]) -> bool:
        """Whether the request may carry a session, which is looked up in Redis."""
        return has_session(environ)

    def has_unknown_key(self, request: HttpRequest) -> bool:
        """Whether the key of a request is unknown to this process, and may be new."""
        return self._services[Authenticator].may_become_known(EnvironHeaders(request.wsgi))

    async def follow_keys(self) -> None:
        """Ask once for new keys."""
        await self._services[Authenticator].follow_keys()

    def has_session_alone(self, request: HttpRequest) -> bool:
        """Whether a session takes the place of the request's key."""
        return not self._services[Authenticator].open and session_token(request.wsgi) is not None

    async def check_session(self, request: HttpRequest) -> None:
        """Look up the session of a request whose body is large, and note its tenant.

        It does not count as a use: the request does. Raises `RequestRejected`.
        """
        token = session_token(request.wsgi) or ""

        def find_tenant() -> str:
            _, used = self._services[SessionStore].use(token, renews=False)
            return self._services[Authenticator].identity_of(used.key, {}).tenant.name

        try:
            request.tenant = await asyncio.to_thread(find_tenant)
        except StokerError as error:
            raise RequestRejected(error) from None

    def check_key(self, request: HttpRequest, address: str) -> None:
        """Check the key of a request from `address` whose body is large, and note its tenant.

        Raises `RequestRejected`.
        """
        authenticator = self._services[Authenticator]
        try:
            # its route, and the scope that this needs, are not known yet
            caller = authenticator.identify(EnvironHeaders(request.wsgi), Access.PUBLIC, address)
            request.tenant = caller.tenant.name
        except StokerError as error:
            raise RequestRejected(error) from None

    def open_sink(self, request: HttpRequest, address: str, flow: BodyFlow) -> BodySink | None:
        """Return a sink for the body of an upload from `address`, unless it has a session.

        Raises `RequestRejected`. Its caller is identified before any of the body is read, and again when it
        is complete.
        """
        rules_of = UPLOADS.get(request.path)
        if rules_of is None or request.method != "POST" or self.has_session(request.wsgi):
            return None
        headers, authenticator = EnvironHeaders(request.wsgi), self._services[Authenticator]
        try:
            if authenticator.may_become_known(headers):
                return None  # its body is received as any other: the key is checked again meanwhile
            if authenticator.open_mode is not None:
                authenticator.open_mode.check(headers.get("Host"), headers.get("Origin"))
            caller = authenticator.identify(headers, Access.INFERENCE, address)
            request.tenant = caller.tenant.name
            reject_encoding(headers.get("Content-Encoding"))
            length = request.wsgi.get("CONTENT_LENGTH")
            return self._services[Uploads].begin(
                caller.tenant.name,
                rules_of(self._services[Settings].files),
                request.wsgi.get("CONTENT_TYPE"),
                None if length is None else int(length),
                flow,
            )
        except StokerError as error:
            raise RequestRejected(error) from None

    def stop(self) -> None:
        """End the uploads that still arrive."""
        self._services[Uploads].stop()
