"""A client of the platform's HTTP API, with the standard library only."""

from __future__ import annotations

import http.client
import json
import re
from collections.abc import Callable, Generator, Iterator
from typing import Any
from urllib.parse import quote, urlsplit

from config.addresses import is_address
from config.commands import with_runnable_commands

TIMEOUT_S = 10.0
KEYS = "; the key to send is in STOKER_API_KEY, or for administrators in STOKER_ADMIN_KEY"
"""What a message adds about a wrong key; the generated ones are read from the data folder."""

API_URL = r"https?://[^\s/?#@]+(/[^\s?#]*)?"


class ApiClientError(Exception):
    """Raised when the API refuses a request or cannot be reached; the text is one sentence for the user."""

    def __init__(self, message: str, status: int | None = None, code: str | None = None) -> None:
        """`status` is the HTTP status, None without a response, `code` the error's code, if it has one."""
        super().__init__(message)
        self.status, self.code = status, code


class ApiUnreachable(ApiClientError):
    """Raised when no API answers."""


class InvalidApiAddress(ApiClientError):
    """Raised for a text that is no address of an API."""


class ApiClient:
    """A client for one API, by its URL, with one key."""

    def __init__(
        self, url: str, key: str | None, timeout_s: float = TIMEOUT_S, needs_key: str | None = None
    ) -> None:
        """Sends nothing. `needs_key` replaces the message of a 401. Raises `InvalidApiAddress`."""
        address = full_address(url)
        parts = urlsplit(address)
        self.url = address.rstrip("/")
        self._parts, self._host, self._port = parts, parts.hostname or "", parts.port
        self._key, self._timeout_s, self._needs_key = key, timeout_s, needs_key

    def get(self, path: str) -> dict[str, Any]:
        """GET a JSON object. Raises `ApiError`."""
        return self._json("GET", path, None)

    def post(
        self, path: str, body: dict[str, Any] | None = None, *, timeout_s: float | None = None
    ) -> dict[str, Any]:
        """POST a JSON object and read one; `timeout_s` None: that of the client. Raises `ApiError`."""
        return self._json("POST", path, body or {}, timeout_s)

    def patch(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """PATCH a JSON object and read one. Raises `ApiError`."""
        return self._json("PATCH", path, body)

    def delete(self, path: str) -> dict[str, Any]:
        """DELETE, and read a JSON object. Raises `ApiError`."""
        return self._json("DELETE", path, None)

    def events(
        self,
        path: str,
        body: dict[str, Any],
        timeout_s: float,
        on_comment: Callable[[str], None] | None = None,
    ) -> Generator[dict[str, Any]]:
        """POST, and yield the server-sent events of the response until `[DONE]` or its end.

        `timeout_s` is the longest time without a line; `on_comment` is called with the text of each comment.
        Raises `ApiError`.
        """
        connection = self._connect(timeout_s)
        response = None
        try:
            response = self._send(connection, "POST", path, body)
            if response.status >= 400:
                raise self._refusal(response.status, response.read())
            for line in response:
                field, _, data = line.partition(b":")
                data = data.strip()
                if field == b"data" and data == b"[DONE]":
                    return
                if field == b"data" and data:
                    yield json.loads(data)
                elif not field and data and on_comment is not None:
                    on_comment(data.decode("utf-8", "replace"))
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise self._unreachable(error) from error
        finally:
            if response is not None:
                response.close()  # it may own the socket
            connection.close()

    def lines(self, path: str, accept: str) -> Iterator[bytes]:
        """GET an answer of lines, and yield them without their ends. Raises `ApiError`."""
        connection = self._connect(self._timeout_s)
        try:
            response = self._send(connection, "GET", path, None, accept)
            if response.status >= 400:
                raise self._refusal(response.status, response.read())
            for line in response:
                yield line.removesuffix(b"\n")
        except (OSError, http.client.HTTPException) as error:
            raise self._unreachable(error) from error
        finally:
            connection.close()

    def _json(
        self, method: str, path: str, body: dict[str, Any] | None, timeout_s: float | None = None
    ) -> dict[str, Any]:
        connection = self._connect(self._timeout_s if timeout_s is None else timeout_s)
        try:
            response = self._send(connection, method, path, body)
            data = response.read()
        except (OSError, http.client.HTTPException) as error:
            raise self._unreachable(error) from error
        finally:
            connection.close()
        if response.status >= 400:
            raise self._refusal(response.status, data)
        try:
            answer = json.loads(data)
        except ValueError as error:
            message = f"what answers at {self.url} is not Stoker's API: it sent no JSON"
            raise ApiClientError(message, response.status) from error
        return answer if isinstance(answer, dict) else {"data": answer}

    def _connect(self, timeout_s: float) -> http.client.HTTPConnection:
        kind = http.client.HTTPSConnection if self._parts.scheme == "https" else http.client.HTTPConnection
        return kind(self._host, self._port, timeout=timeout_s)

    def _send(
        self,
        connection: http.client.HTTPConnection,
        method: str,
        path: str,
        body: dict[str, Any] | None,
        accept: str = "application/json",
    ) -> http.client.HTTPResponse:
        headers = {"Accept": accept}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        if body is not None:
            headers["Content-Type"] = "application/json"
        payload = None if body is None else json.dumps(body).encode()
        connection.request(method, self._parts.path.rstrip("/") + path, payload, headers)
        return connection.getresponse()

    def _unreachable(self, error: Exception) -> ApiUnreachable:
        if isinstance(error, ConnectionRefusedError):
            message = f"no API answers at {self.url}; start one with `stoker up` (or `make up`)"
            return ApiUnreachable(with_runnable_commands(message))
        return ApiUnreachable(f"the API at {self.url} does not answer: {error or type(error).__name__}")

    def _refusal(self, status: int, data: bytes) -> ApiClientError:
        try:
            error = json.loads(data)["error"]
            code, message = error.get("code"), error["message"]
        except (ValueError, KeyError, TypeError):
            return ApiClientError(f"the API answered with status {status}", status)
        if status == 401 and self._needs_key is not None:
            return ApiClientError(f"{self._needs_key} ({code or status})", status, code)
        hint = KEYS if status == 401 else ""
        return ApiClientError(f"{message} ({code or status}){hint}", status, code)


def full_address(url: str) -> str:
    """Return the address of an API with its scheme. Raises `InvalidApiAddress`."""
    address = url if "://" in url else f"http://{url}"
    if not re.fullmatch(API_URL, address) or not is_address(address):
        # it may contain a password, so it is not repeated
        raise InvalidApiAddress(
            "the address of the API should look like http://127.0.0.1:8080, without a user and a password"
        )
    return address


def in_path(name: str) -> str:
    """Quote a model's name for a path; a slash in it stays."""
    return quote(name, safe="/")
