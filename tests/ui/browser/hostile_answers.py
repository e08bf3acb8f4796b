"""Puts hostile texts into the API's answers to a browser: names that the API itself would refuse, too."""

from __future__ import annotations

import json
import urllib.request
from typing import Any
from urllib.parse import quote

from tests.support.platform import Platform
from tests.support.waiting import scaled
from tests.ui.browser.hostile_texts import Poison

UNESCAPED = "!'()*-._~"
"""What `encodeURIComponent` leaves as it is, besides letters and digits."""


class HostileAnswers:
    """Changes the answers to all requests of a browser's context for `/v1`."""

    def __init__(self, context: Any, platform: Platform) -> None:
        self.poison = Poison()
        self._platform = platform
        context.route("**/v1/**", self._answer)

    def _answer(self, route: Any) -> None:
        request = route.request
        url = self._clean(request.url)
        if "/v1/admin/events" in url:
            self._answer_stream(route)
            return
        answer = route.fetch(url=url)
        kind = answer.headers.get("content-type", "")
        if not kind.startswith("application/json"):
            route.fulfill(response=answer)
            return
        changed = self.poison.document(answer.json())
        route.fulfill(response=answer, body=json.dumps(changed))

    def _answer_stream(self, route: Any) -> None:
        """Answer with what there is: the page comes back for more."""
        request = urllib.request.Request(
            f"{self._platform.url}/v1/admin/events?follow=false",
            headers={"Authorization": f"Bearer {self._platform.keys['admin_key']}"},
        )
        with urllib.request.urlopen(request, timeout=scaled(30)) as answer:
            text = answer.read().decode()
        route.fulfill(body=self.poison.stream(text), content_type="text/event-stream; charset=utf-8")

    def _clean(self, url: str) -> str:
        """The address with the names that the API knows."""
        for text, poisoned in self.poison.given.items():
            url = url.replace(quote(poisoned, safe=UNESCAPED), quote(text, safe=UNESCAPED))
        return url
