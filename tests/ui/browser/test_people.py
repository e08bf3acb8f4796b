"""People sign in by the provider: viewers change nothing, the audit names operators, sessions are ended."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.oidc_provider import CLIENT_ID, CLIENT_SECRET, OidcProvider
from tests.support.platform import Platform, running_platform
from tests.ui.browser.conftest import close
from tests.ui.browser.prefix_proxy import PrefixProxy

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


def test_a_refused_sign_in_by_the_provider_can_be_repeated_and_leads_to_the_wanted_page(
    chromium: Any, acme: Platform
) -> None:
    page = chromium.new_context().new_page()
    page.goto(f"{acme.url}/ui/admin/models?q=stub")
    for again in (False, True):
        page.get_by_role("button", name="Sign in with Acme").click()
        page.get_by_role("link", name="nina").click()
        page.get_by_role("alert").get_by_text("you have no role here").wait_for()
        assert page.url == f"{acme.url}/ui/sign-in?to=%2Fadmin%2Fmodels%3Fq%3Dstub"
        if again:
            page.reload()
    page.get_by_role("button", name="Sign in with Acme").click()
    page.get_by_role("link", name="oscar").click()
    page.wait_for_url("**/ui/admin/models?q=stub")
    assert page.get_by_role("button", name="Load: stub").is_enabled()
    page.goto(f"{acme.url}/ui/sign-in")  # it is of another sign-in, which wants no page
    page.get_by_role("button", name="Sign in with Acme").click()
    page.get_by_role("link", name="oscar").click()
    page.wait_for_url("**/ui/")
    close(page.context)


def test_a_person_signs_in_below_the_prefix_of_a_reverse_proxy(chromium: Any, acme: Platform) -> None:
    with PrefixProxy(int(acme.url.rpartition(":")[2]), "/of/stoker") as proxy:
        page = chromium.new_context().new_page()
        page.goto(f"{proxy.url}/ui/admin/models?q=stub")
        page.get_by_role("button", name="Sign in with Acme").click()
        page.get_by_role("link", name="vera").click()
        page.wait_for_url(f"{proxy.url}/ui/admin/models?q=stub")
        page.get_by_text("Vera Viewer").wait_for()
        close(page.context)
        assert [path for path in proxy.outside if path != "/favicon.ico"] == []


def test_the_chat_and_the_page_of_the_api_name_the_person_before_the_tenant(
    chromium: Any, acme: Platform
) -> None:
    page = sign_in(chromium, acme, "vera", "/admin/models")
    page.goto(f"{acme.url}/docs")
    page.locator("#caller", has_text="Signed in as Vera Viewer, tenant admin (").wait_for()
    page.goto(f"{acme.url}/ui/")
    page.get_by_text("Signed in as Vera Viewer", exact=True).wait_for()
    page.get_by_text("Tenant admin", exact=True).wait_for()
    close(page.context)


def test_a_page_names_the_role_that_it_needs_and_the_end_of_the_session(
    chromium: Any, acme: Platform
) -> None:
    vera = sign_in(chromium, acme, "vera", "/admin/models")
    vera.goto(f"{acme.url}/ui/admin/sessions")
    vera.get_by_text("This page needs the role admin; you have viewer.").wait_for()
    close(vera.context)
    for path in ("/admin/models", "/admin"):
        vera = sign_in(chromium, acme, "vera", "/admin/models")
        vera.goto(f"{acme.url}/ui{path}")
        vera.get_by_text("Vera Viewer").wait_for()
        _, listed = acme.admin("GET", "/v1/admin/sessions")
        for row in listed["data"]:
            if row["person"] is not None:
                assert acme.admin("DELETE", f"/v1/admin/sessions/{row['id']}")[0] == 200
        vera.get_by_text("Your session has ended.").wait_for()
        close(vera.context)
    page = chromium.new_context().new_page()
    page.goto(f"{acme.url}/ui/admin/models")
    page.get_by_text("Sign in as an operator or with the key of an administrator").wait_for()
    assert page.get_by_text("Your session has ended.").count() == 0, "there was none"
    close(page.context)
