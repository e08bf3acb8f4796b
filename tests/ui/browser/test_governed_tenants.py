"""The page Tenants and keys of a platform on which a change needs signatures."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from governance.op_tokens.signer_keys import create_signer_key
from tests.support.platform import Platform, running_platform
from tests.ui.browser.conftest import MODELS, check_accessible

KEYS = "table:has(caption:text-is('API keys')) tbody"

pytestmark = [pytest.mark.browser, pytest.mark.journey]


@pytest.fixture(scope="module")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    folder = tmp_path_factory.mktemp("governed")
    key = {"id": "k1", "key": create_signer_key(folder / "alice.pem")}
    rule = {"mode": "signed", "threshold": 1, "signers": ["alice"]}
    operations = ("model-load", "model-unload", "cache-flush", "access-change")
    governance = {
        "admin": "governed",
        **dict.fromkeys(operations, rule),
        "signers": {"alice": {"public_keys": [key]}},
    }
    with running_platform(
        folder / "up",
        {"models": MODELS, "governance": governance},
        *("--port", "0", "--no-flower"),
        environment={"CUDA_VISIBLE_DEVICES": ""},
    ) as platform:
        yield platform


def test_a_governed_platform_offers_no_change_and_names_the_page_that_signs(
    signed_in: Callable[[str], Any], platform: Platform
) -> None:
    assert platform.admin("GET", "/v1/admin/tenants")[1]["needs_proposal"] is True
    page = signed_in("/ui/admin/tenants?tenant=default")
    page.wait_for_selector("tbody[data-row=default]")
    page.wait_for_selector(KEYS)
    assert page.locator("select[name=keys-tenant]").input_value() == "default"
    assert page.locator(KEYS).count() == 1
    buttons = page.locator("main").get_by_role("button").all_inner_texts()
    assert not {"Add a tenant", "Create a key", "Change", "Remove", "Revoke"} & set(buttons)
    check_accessible(page)
    page.get_by_role("status").get_by_role("link", name="Approvals").click()
    page.wait_for_url("**/ui/admin/approvals")
