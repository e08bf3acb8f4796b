"""Asks a model a question through the API, and measures the time of the answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from config.commands import with_runnable_commands
from stoker.chat.answer import Timing, stream_answer
from stoker.chat.conversation import Conversation
from stoker.chat.rendering import PlainRenderer
from stoker.client import ApiClient, ApiClientError

DEMO_MODEL, STUB_MODEL = "stoker-demo", "stub"
"""Two models of `settings.json`: one that is made for examples, and one that gives no real answers."""


def ask(
    client: ApiClient, model: str, question: str, show: Callable[[str], None], *, allow_remote: bool = False
) -> Timing:
    """Stream the answer; `show` is called with each piece of its text. Raises `ApiError`."""
    fields: dict[str, Any] = {"allow_remote": True} if allow_remote else {}
    plain = PlainRenderer()
    body = Conversation(model, fields=fields).request(question)
    answer = stream_answer(client, body, lambda event: show(plain.render(event)))
    if answer.timing is None:
        raise KeyboardInterrupt
    return answer.timing


def find_loaded_model(client: ApiClient, *, allow_remote: bool = False) -> str:
    """Return a loaded model, the demo model if it is one of them. Raises `ApiClientError` without any."""
    models = client.get("/v1/models").get("data", [])
    allowed = [model for model in models if allow_remote or not model.get("remote")]
    ready = [str(model["id"]) for model in allowed if model.get("state") == "loaded"]
    if not ready:
        raise ApiClientError(
            with_runnable_commands(
                "no model is loaded; `stoker status` lists the models, `stoker load NAME` loads one"
            )
        )
    return min(ready, key=lambda name: (name != DEMO_MODEL, name == STUB_MODEL))
