"""Follows what the API or a log has, over restarts of the API, until the reader of the output is gone."""

from __future__ import annotations

import contextlib
import io
import select
import sys
import time
from collections.abc import Callable
from typing import Any

from stoker.client import ApiClient, ApiClientError, ApiUnreachable
from stoker.results import print_note

POLL_S = 1.0
RETRIED_STATUSES = (429, 500, 502, 503, 504)
"""What a starting or stopping API, its proxy and its limits answer."""


class Reconnecting:
    """Reads from the API; after the first answer it waits for one that restarts, and notes that on stderr.

    `connect` makes a client: a restarted `stoker up` may have another address and other keys. `note` shows
    that it waits.
    """

    def __init__(self, connect: Callable[[], ApiClient], note: Callable[[str], None] = print_note) -> None:
        self._connect, self._note = connect, note
        self._client: ApiClient | None = None
        self._url = ""
        self._has_answered = self._is_away = False

    def get(self, path: str) -> dict[str, Any] | None:
        """GET a JSON object; None while the API does not answer. Raises `ApiClientError`."""
        try:
            if self._client is None:
                self._client = self._connect()
                self._url = self._client.url
            answer = self._client.get(path)
        except ApiClientError as error:
            is_away = isinstance(error, ApiUnreachable) or error.status in RETRIED_STATUSES
            if not self._has_answered or not is_away:
                raise
            if not self._is_away:
                self._note(f"the API at {self._url} does not answer; trying again until it does, Ctrl-C ends")
            self._client, self._is_away = None, True
            return None
        if self._is_away:
            self._note(f"the API at {self._url} answers again")
        self._has_answered, self._is_away = True, False
        return answer


def pause(seconds: float = POLL_S) -> None:
    """Wait, but raise `BrokenPipeError` at once when the reader of standard output is gone (`| head`).

    Otherwise a command that has nothing to print would go on for ever.
    """
    poll = select.poll()
    with contextlib.suppress(io.UnsupportedOperation):  # a test's output has no descriptor
        poll.register(sys.stdout.fileno(), 0)  # errors and hang-ups are reported in any case
        if poll.poll(seconds * 1000):
            raise BrokenPipeError
        return
    time.sleep(seconds)
