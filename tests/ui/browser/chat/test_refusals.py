"""Requests that the platform refuses: a limit that is reached, and a key that is revoked."""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator

import pytest

from tests.support.platform import Platform
from tests.ui.browser.chat.conftest import Browser

pytestmark = [pytest.mark.browser, pytest.mark.journey]


@pytest.fixture
def tenant(chat_platform: Platform) -> Iterator[str]:
    """A tenant whose limit the test changes."""
    name = f"limited-{secrets.token_hex(4)}"  # the name of a removed tenant is not given again for a while
    status, answer = chat_platform.admin("POST", "/v1/admin/tenants", {"name": name})
    assert status == 201, answer
    yield name
    chat_platform.admin("DELETE", f"/v1/admin/tenants/{name}")


def limit(platform: Platform, tenant: str, rate_limit: str) -> None:
    status, answer = platform.admin("PATCH", f"/v1/admin/tenants/{tenant}", {"rate_limit": rate_limit})
    assert status == 200, answer


def new_key(platform: Platform, tenant: str) -> dict[str, str]:
    status, made = platform.admin("POST", "/v1/admin/keys", {"tenant": tenant})
    assert status == 201, made
    return dict(made)


def test_a_used_budget_is_named_in_words_and_the_question_can_be_sent_again_once_it_is_raised(
    browser: Browser, tenant: str, chat_platform: Platform
) -> None:
    def change(budget: int) -> None:
        body = {"budget_tokens": budget}
        assert chat_platform.admin("PATCH", f"/v1/admin/tenants/{tenant}", body)[0] == 200

    def used() -> int:
        answer = chat_platform.admin("GET", f"/v1/admin/tenants/{tenant}/limits")[1]
        return int(answer["budget"]["tokens"]["used"])

    change(1)
    chat = browser()
    chat.sign_in(new_key(chat_platform, tenant)["key"])
    chat.open()
    chat.ask("/stub echo one", "stub")
    chat_platform.wait_for(lambda: used() > 0, 10, "the count of the answer")
    chat.send("/stub echo two")
    chat.wait_for("failed")
    chat.answer().get_by_text("Your budget for this month is used up.").wait_for()
    change(10**6)
    chat.act("Try again")
    chat.wait_for("done")
    assert chat.text() == "two"
    chat.expect("429")


@pytest.mark.parametrize("rate_limit", ["1req/min", "1req/hour"])
def test_an_answer_beyond_the_limit_can_be_tried_again_after_the_time_of_the_refusal(
    browser: Browser, tenant: str, chat_platform: Platform, rate_limit: str
) -> None:
    limit(chat_platform, tenant, rate_limit)
    chat = browser()
    chat.sign_in(new_key(chat_platform, tenant)["key"])
    chat.open()
    chat.ask("/stub echo one", "stub")
    chat.send("/stub echo two")
    chat.wait_for("failed")
    waiting = chat.answer().get_by_role("button", name=re.compile("^Try again in"))
    waiting.wait_for()
    assert waiting.is_disabled()
    assert chat.questions.last.get_by_text("/stub echo two").count() == 1
    limit(chat_platform, tenant, "100req/min")
    chat.page.clock.install()
    chat.reload()
    assert waiting.is_disabled()
    chat.page.clock.fast_forward(60_000)
    chat.act("Try again")
    chat.wait_for("done")
    assert chat.text() == "two"
    chat.expect("429")


def test_a_question_with_a_revoked_key_is_answered_after_a_sign_in_with_another_one(
    browser: Browser, tenant: str, chat_platform: Platform
) -> None:
    limit(chat_platform, tenant, "100req/min")
    key = new_key(chat_platform, tenant)
    chat = browser()
    chat.sign_in(key["key"])
    chat.open()
    chat.ask("/stub echo before", "stub")
    status, answer = chat_platform.admin("DELETE", f"/v1/admin/keys/{key['id']}")
    assert status in (200, 204), answer
    chat.send("/stub echo after")
    chat.page.get_by_text("You are not signed in").wait_for()
    assert chat.text(0) == "before"
    chat.composer.fill("a draft")
    chat.page.get_by_role("status").get_by_role("button", name="Sign in").click()
    dialog = chat.page.get_by_role("dialog")
    dialog.get_by_label("API key").fill(new_key(chat_platform, tenant)["key"])
    dialog.get_by_role("button", name="Sign in").click()
    chat.wait_for("done")
    assert chat.text() == "after"
    assert chat.composer.input_value() == "a draft"
    chat.expect("401")
