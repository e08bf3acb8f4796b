"""The webhook targets of the page Alerts: their states, and test events."""

from __future__ import annotations

import secrets
from base64 import b64encode
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.support.platform import Platform, running_platform
from tests.support.webhook_receiver import ReceiverThread
from tests.ui.browser.conftest import SETTLE, check_accessible

pytestmark = [pytest.mark.browser, pytest.mark.journey]

PATH = "/ui/admin/alerts"
LONG = "t" * 64


@pytest.fixture(scope="module")
def receiver() -> Iterator[ReceiverThread]:
    with ReceiverThread() as receiver:
        yield receiver


@pytest.fixture(scope="module")
def platform(tmp_path_factory: pytest.TempPathFactory, receiver: ReceiverThread) -> Iterator[Platform]:
    """A platform with a target that receives, and one at a port without a server."""
    secret = f"whsec_{b64encode(secrets.token_bytes(32)).decode()}"
    target = {"secret_variable": "HOOK_SECRET", "events": ["alert.firing", "alert.resolved"]}
    webhooks = {
        "allowed_hosts": ["127.0.0.1"],
        "allow_private": True,
        "targets": {
            "ops": {**target, "url": receiver.url},
            LONG: {**target, "url": "http://127.0.0.1:9/secret-path"},
        },
    }
    with running_platform(
        tmp_path_factory.mktemp("webhooks"),
        {"models": {"stub": {"backend": "stub", "enabled": True}}, "webhooks": webhooks},
        *("--port", "0", "--no-flower"),
        environment={"CUDA_VISIBLE_DEVICES": "", "HOOK_SECRET": secret},
    ) as platform:
        yield platform


def test_a_target_shows_whether_it_receives_and_a_test_event_its_result(
    signed_in: Callable[[str], Any], receiver: ReceiverThread
) -> None:
    page = signed_in(PATH)
    page.get_by_role("heading", name="Webhook targets").wait_for()
    good, bad = page.locator("tbody[data-row=ops]"), page.locator(f"tbody[data-row={LONG}]")
    good.get_by_text("no event yet").wait_for()
    good.get_by_role("button", name="Send a test event to ops").click()
    page.get_by_text("The test event has arrived at ops.").wait_for()
    good.get_by_text("receives", exact=True).wait_for()
    assert b'"type":"webhook.test"' in receiver.received[-1][1]
    bad.get_by_role("button", name="Send a test event to").click()
    page.get_by_text(f"The test event did not arrive at {LONG}: ConnectionRefusedError").wait_for()
    bad.get_by_text("does not receive").wait_for()
    bad.get_by_text("no event has arrived. Latest attempt at").wait_for()
    check_accessible(page)
    for width in (390, 1280):
        page.set_viewport_size({"width": width, "height": 800})
        page.evaluate(SETTLE)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert "secret-path" not in page.content()
