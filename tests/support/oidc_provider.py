"""An OpenID Connect provider on the loopback interface, with real keys and signatures.

Its page for signing in has a button for each person; `GET /authorize?...&person=NAME` is that button. A test
changes what it answers (`claims`, `algorithm`, `answers`) to make it hostile.
"""

from __future__ import annotations

import base64
import html
import secrets
import threading
import time
from collections.abc import Callable, Mapping
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, parse_qsl, quote, urlencode, urlsplit

import orjson
from joserfc import jwt
from joserfc.jwk import ECKey, RSAKey

CLIENT_ID, CLIENT_SECRET = "stoker", "a secret of the client"
PEOPLE: Mapping[str, Mapping[str, Any]] = {
    "vera": {"name": "Vera Viewer", "groups": ["viewers"]},
    "oscar": {"name": "Oscar Operator", "groups": ["operators", "staff"]},
    "ada": {"name": "Ada Admin", "groups": ["admins"]},
    "nina": {"name": "Nina Newcomer", "groups": []},
}


class OidcProvider:
    """The provider, in a thread. `issuer` is its address."""

    def __init__(self) -> None:
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
        self._server.provider = self  # type: ignore[attr-defined]
        self.issuer = f"http://127.0.0.1:{self._server.server_port}"
        self.key: RSAKey | ECKey = RSAKey.generate_key(2048, {"kid": "first", "use": "sig"})
        self.algorithm = "RS256"
        self.published: list[dict[str, Any]] | None = None
        """The keys of the JWKS; those of `key` unless set."""
        self.claims: dict[str, Any] = {}
        """What the next tokens have instead; None: without the claim."""
        self.sign: Callable[[dict[str, Any]], str] = self._sign
        self.answers: dict[str, tuple[int, bytes]] = {}
        """By path: a status and a body instead of the provider's own."""
        self.requests: list[str] = []
        self.codes: dict[str, dict[str, str]] = {}
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05})

    def __enter__(self) -> OidcProvider:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def discovery(self) -> dict[str, Any]:
        """The document of OpenID Connect Discovery."""
        return {
            "issuer": self.issuer,
            "authorization_endpoint": f"{self.issuer}/authorize",
            "token_endpoint": f"{self.issuer}/token",
            "jwks_uri": f"{self.issuer}/keys",
            "authorization_response_iss_parameter_supported": True,
        }

    def authorize(self, url: str, person: str) -> dict[str, str]:
        """Sign a person in at an authorization URL; returns the parameters that the browser brings back."""
        wanted = dict(parse_qsl(urlsplit(url).query))
        code = secrets.token_urlsafe(16)
        self.codes[code] = {**wanted, "person": person}
        return {"code": code, "state": wanted["state"], "iss": self.issuer}

    def token(self, form: Mapping[str, str], authorization: str | None) -> tuple[int, dict[str, Any]]:
        """The answer of the token endpoint: a code works once, for its client with its verifier."""
        wanted = self.codes.pop(form.get("code", ""), None)
        pair = base64.b64encode(f"{CLIENT_ID}:{quote(CLIENT_SECRET, safe='')}".encode()).decode()
        if authorization != f"Basic {pair}":
            return 401, {"error": "invalid_client"}
        challenge = base64.urlsafe_b64encode(sha256(form["code_verifier"].encode()).digest()).rstrip(b"=")
        if (
            wanted is None
            or wanted["redirect_uri"] != form["redirect_uri"]
            or wanted["code_challenge"] != challenge.decode()
        ):
            return 400, {"error": "invalid_grant"}
        person, now = wanted["person"], int(time.time())
        claims = {
            "iss": self.issuer,
            "aud": CLIENT_ID,
            "sub": f"id-of-{person}",
            "iat": now,
            "exp": now + 300,
            "nonce": wanted["nonce"],
            "email": f"{person}@example.com",
            "email_verified": True,
            **PEOPLE[person],
            **self.claims,
        }
        token = self.sign({name: value for name, value in claims.items() if value is not None})
        return 200, {"id_token": token, "access_token": "unused", "token_type": "Bearer"}

    def _sign(self, claims: dict[str, Any]) -> str:
        header = {"alg": self.algorithm, "kid": self.key.kid}
        return jwt.encode(header, claims, self.key, algorithms=[self.algorithm])

    def keys(self) -> dict[str, Any]:
        """The JWKS."""
        published = [dict(self.key.as_dict(private=False))] if self.published is None else self.published
        return {"keys": published}


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        provider, path = self._provider(), urlsplit(self.path).path
        if path in provider.answers:
            self._send(*provider.answers[path])
        elif path == "/.well-known/openid-configuration":
            self._send(200, orjson.dumps(provider.discovery()))
        elif path == "/keys":
            self._send(200, orjson.dumps(provider.keys()))
        elif path == "/authorize":
            self._authorize(provider)
        else:
            self._send(404, b"{}")

    def do_POST(self) -> None:
        provider, path = self._provider(), urlsplit(self.path).path
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        if path in provider.answers:
            self._send(*provider.answers[path])
            return
        status, answer = provider.token(dict(parse_qsl(body)), self.headers.get("Authorization"))
        self._send(status, orjson.dumps(answer))

    def _authorize(self, provider: OidcProvider) -> None:
        query = parse_qs(urlsplit(self.path).query)
        person = query.get("person", [""])[0]
        if person:
            answer = urlencode(provider.authorize(self.path, person))
            self.send_response(302)
            self.send_header("Location", f"{query['redirect_uri'][0]}?{answer}")
            self.end_headers()
            return
        links = "".join(
            f'<p><a href="{html.escape(self.path)}&amp;person={name}">{name}</a></p>' for name in PEOPLE
        )
        self._send(200, f"<!doctype html><title>Provider</title>{links}".encode(), "text/html")

    def _provider(self) -> OidcProvider:
        provider: OidcProvider = self.server.provider  # type: ignore[attr-defined]
        provider.requests.append(urlsplit(self.path).path)
        return provider

    def _send(self, status: int, body: bytes, kind: str = "application/json") -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass
