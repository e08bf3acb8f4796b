"""People sign in by the provider: viewers change nothing, the audit names operators, sessions are ended."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.oidc_provider import CLIENT_ID, CLIENT_SECRET, OidcProvider
from tests.support.platform import Platform, running_platform
from tests.ui.browser.conftest import close

pytestmark = [pytest.mark.browser, pytest.mark.journey]

GROUPS = {
    name: {"role": name.removesuffix("s"), "tenant": "admin"} for name in ("viewers", "operators", "admins")
}


@pytest.fixture
def provider() -> Iterator[OidcProvider]:
    with OidcProvider() as running:
        yield running


@pytest.fixture
def acme(tmp_path: Any, provider: OidcProvider) -> Iterator[Platform]:
    """A platform whose people sign in by the provider."""
    oidc = {
        "issuer": provider.issuer,
        "client_id": CLIENT_ID,
        "name": "Acme",
        "groups": GROUPS,
    }
    local = {"models": {"stub": {"backend": "stub"}}, "oidc": oidc}
    environment = {"CUDA_VISIBLE_DEVICES": "", "STOKER_OIDC_CLIENT_SECRET": CLIENT_SECRET}
    with running_platform(tmp_path, local, "--port", "0", "--no-flower", environment=environment) as platform:
        yield platform


def sign_in(chromium: Any, platform: Platform, person: str, path: str) -> Any:
    """A page of a browser of its own, in which a person has signed in."""
    page = chromium.new_context().new_page()
    page.goto(f"{platform.url}/ui{path}")
    page.get_by_role("button", name="Sign in with Acme").click()
    page.get_by_role("link", name=person).click()
    page.wait_for_url(f"**/ui{path}")
    return page


def test_people_of_each_role_sign_in_and_an_administrator_ends_a_session(
    chromium: Any, acme: Platform
) -> None:
    vera = sign_in(chromium, acme, "vera", "/admin/models?q=stub")
    vera.get_by_text("Vera Viewer").wait_for()
    vera.get_by_text("Its changes need the role operator or admin; you have viewer.").wait_for()
    load = vera.get_by_role("button", name="Load: stub")
    load.wait_for()
    assert load.is_disabled()
    assert load.get_attribute("title") == "This needs the role operator or admin; you have viewer."

    for link, form in (("tenants?add=tenant", "Add a tenant"), ("approvals?propose=model-load", "Propose")):
        vera.goto(f"{acme.url}/ui/admin/{link}")
        opener = vera.get_by_role("button", name=form)
        opener.wait_for()
        assert opener.is_disabled()
        assert vera.get_by_role("dialog").count() == 0, "a link opens no form that this person may not send"

    oscar = sign_in(chromium, acme, "oscar", "/admin/models")
    oscar.get_by_role("button", name="Load: stub").click()
    oscar.get_by_role("dialog").get_by_role("button", name="Load", exact=True).click()
    acme.wait_state("stub", "loaded", 30)
    oscar.goto(f"{acme.url}/ui/admin/audit")
    oscar.get_by_role("cell", name="oscar@example.com").first.wait_for()

    ada = sign_in(chromium, acme, "ada", "/admin/sessions")
    ada.get_by_role("button", name="End the session of Vera Viewer").click()
    ada.get_by_role("dialog").get_by_role("button", name="End").click()
    ada.get_by_role("button", name="End the session of Vera Viewer").wait_for(state="detached")
    vera.reload()
    vera.get_by_role("button", name="Sign in with Acme").wait_for()
    assert vera.get_by_text("Vera Viewer").count() == 0
    assert ada.get_by_text("sessions that were used last").count() == 0
    ada.route(
        "**/v1/admin/sessions", lambda route: route.fulfill(json={**route.fetch().json(), "total": 1203})
    )
    ada.get_by_text("of 1203 sessions that were used last").wait_for()
    ada.unroute_all(behavior="wait")
    for page in (vera, oscar, ada):
        close(page.context)
