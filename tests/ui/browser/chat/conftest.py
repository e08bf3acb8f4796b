"""A platform with models for the chat, and browsers that a person of a tenant uses."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.support.platform import Platform, running_platform
from tests.ui.browser.chat.chat_page import ChatPage
from tests.ui.browser.conftest import close
from tests.ui.browser.cuttable_proxy import CuttableProxy

MODELS = {
    "stub": {"backend": "stub", "enabled": True, "target_inflight": 8, "stub_context": 2000},
    "single": {
        "backend": "stub",
        "enabled": True,
        "target_inflight": 1,
        "stub_tokens": 40,
        "stub_tokens_per_s": 20,
    },
    "roomy": {"backend": "stub", "enabled": True, "target_inflight": 4, "stub_context": 1_000_000},
    "seeing": {"backend": "stub", "enabled": True, "target_inflight": 4, "stub_image_input": True},
    "sleeping": {"backend": "stub", "on_demand": "load", "stub_load_s": 3},
    "resting": {"backend": "stub"},
    "broken": {"backend": "stub", "stub_load_fail": "not enough memory", "on_demand": "load"},
    # its requests are refused for a while after the first failure: one test alone loads it
    "spoiled": {"backend": "stub", "stub_load_fail": "/srv/own/x.gguf: bad magic", "on_demand": "load"},
}
"""`single` answers one request at a time, `sleeping` loads on demand, `resting` by an operator only."""

Browser = Callable[..., ChatPage]


@pytest.fixture(scope="session")
def chat_platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    with run_chat_platform(tmp_path_factory.mktemp("chat")) as platform:
        yield platform


def run_chat_platform(folder: Path, **settings: Any) -> Any:
    """Run a platform with the models of the chat's tests, with further settings."""
    return running_platform(
        folder,
        {"models": MODELS, **settings},
        *("--port", "0", "--no-flower"),
        environment={"CUDA_VISIBLE_DEVICES": ""},
    )


@pytest.fixture
def browser(chromium: Any, chat_platform: Platform) -> Iterator[Browser]:
    """Open a browser of its own, signed in with the tenant's key; each problem in it fails the test.

    `width`, `height` and `touch` make it a phone, `url` is another address of the platform, `options` are
    those of Playwright's contexts.
    """
    with ExitStack() as stack:
        opened: list[ChatPage] = []

        def open_browser(
            *,
            width: int = 1280,
            height: int = 800,
            url: str | None = None,
            platform: Platform = chat_platform,
            **options: Any,
        ) -> ChatPage:
            context = chromium.new_context(viewport={"width": width, "height": height}, **options)
            stack.callback(close, context)
            chat = ChatPage(context, url or platform.url)
            chat.sign_in(platform.keys["api_key"])
            opened.append(chat)
            return chat

        yield open_browser
        problems = [problem for chat in opened for problem in chat.problems]
    assert problems == []


@pytest.fixture
def chat(browser: Browser) -> ChatPage:
    """The chat on a desk, with a fresh conversation."""
    return browser().open()


@pytest.fixture
def phone(browser: Browser) -> ChatPage:
    """The chat on a phone in portrait, with a fresh conversation."""
    return browser(width=360, height=740, has_touch=True, is_mobile=True).open()


@pytest.fixture
def proxy(chat_platform: Platform) -> Iterator[CuttableProxy]:
    """A way to the platform that a test can cut."""
    with CuttableProxy(int(chat_platform.url.rpartition(":")[2])) as running:
        yield running
