"""Calls of engines that use a scripted server."""

from __future__ import annotations

from dataclasses import replace

import pytest

from backends.base import GenerationError, LoadError
from backends.openai_remote.client import http_client
from config.settings import ModelDefinition
from tests.backends.conftest import Launched, Start, ask
from tests.backends.openai_remote.scripted_server import KEY


def failure(launched: Launched) -> GenerationError:
    """Return the error of a request; it has none of the server's words and not the key."""
    with pytest.raises(GenerationError) as caught:
        launched.answer(ask("Hi"))
    assert not any(word in str(caught.value) for word in (KEY, "secret", "0x"))
    return caught.value


def redirect(launched: Launched, port: int) -> None:
    """Make the engine use another server, over TLS."""
    options = replace(launched.engine._options, scheme="https", port=port)
    launched.engine._client = http_client(options)


def load_error(start: Start, model: ModelDefinition) -> str:
    """Return the message of a load that fails; it does not show the key."""
    with pytest.raises(LoadError) as caught:
        start(model)
    assert caught.value.code == "load_failed"
    assert KEY not in str(caught.value)
    return str(caught.value)
