"""Pages of a platform where flushes, loads and additions need signatures, and where Flower runs."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from config.settings import GOVERNED_OPERATIONS, ROOT
from governance.op_tokens.signer_keys import create_signer_key
from tests.support.platform import Platform, running_platform
from tests.ui.browser.conftest import check_accessible

pytestmark = [pytest.mark.browser, pytest.mark.journey]


@pytest.fixture(scope="module")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    folder = tmp_path_factory.mktemp("governed")
    keys = {name: create_signer_key(folder / f"{name}.pem") for name in ("ann", "bob")}
    two = {"mode": "signed", "threshold": 2}
    (folder / "weights").mkdir()
    shutil.copy(ROOT / "models" / "stoker-demo.gguf", folder / "weights" / "another.gguf")
    local = {
        "model_base_path": str(folder / "weights"),
        "models": {"stub": {"backend": "stub", "enabled": True}, "stoker-demo": {"enabled": False}},
        "governance": {
            "admin": "governed",
            **dict.fromkeys(GOVERNED_OPERATIONS, two),
            "signers": {name: {"public_keys": [{"id": "k1", "key": key}]} for name, key in keys.items()},
        },
    }
    with running_platform(
        folder / "up", local, "--port", "0", environment={"CUDA_VISIBLE_DEVICES": ""}
    ) as platform:
        yield platform


def test_a_flush_that_needs_approval_is_not_offered_and_the_page_links_to_the_approvals(
    signed_in: Callable[[str], Any],
) -> None:
    page = signed_in("/ui/admin/cache")
    page.get_by_text("Nothing was flushed within the last day.").wait_for()
    page.get_by_role("button", name="Show what it affects").click()
    plan = page.get_by_role("region", name="What the flush affects")
    plan.get_by_role("alert").get_by_text("this platform is governed").wait_for()
    assert plan.get_by_role("button", name="Flush now").count() == 0
    plan.get_by_role("link", name="Approvals").click()
    page.wait_for_url("**/ui/admin/approvals")


def test_a_repeated_load_that_needs_approval_is_refused_with_the_way_to_it(
    signed_in: Callable[[str], Any], problems: list[str]
) -> None:
    page = signed_in("/ui/admin/operations")
    page.get_by_role("button", name="Run again: Load of stub").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name="Run again").click()
    dialog.get_by_role("alert").get_by_text("this platform is governed").wait_for()
    assert str(dialog.get_by_role("link", name="Approvals").get_attribute("href")).endswith("admin/approvals")
    assert ["403" in line for line in problems] == [True]
    problems.clear()


def test_an_addition_that_needs_approval_becomes_a_proposal_with_its_plan(
    signed_in: Callable[[str], Any], problems: list[str]
) -> None:
    page = signed_in("/ui/admin/add?source=another.gguf")
    page.get_by_label("Name", exact=True).fill("proposed")
    page.get_by_text("it runs gguf weights").wait_for()
    page.get_by_role("button", name="Add the model").click()
    page.get_by_role("alert").get_by_text("this platform is governed").wait_for()
    page.get_by_role("link", name="Propose it for signatures").click()
    dialog = page.get_by_role("dialog")
    assert '"source": "another.gguf"' in dialog.get_by_label("Change (JSON)").input_value()
    dialog.get_by_role("button", name="Propose", exact=True).click()
    page.get_by_role("heading", name="Addition of a model: proposed").wait_for()
    page.get_by_text("it needs about").wait_for()  # what the plan says of the memory
    check_accessible(page)
    assert ["403" in line for line in problems] == [True]
    problems.clear()


def test_a_task_links_to_flower(platform: Platform, signed_in: Callable[[str], Any]) -> None:
    _, listed = platform.admin("GET", "/v1/admin/operations?kind=load&limit=1")
    id = listed["data"][0]["id"]
    page = signed_in("/ui/admin/operations")
    page.locator(f"tbody[data-row='{id}'] th button").click()
    page.get_by_text("Celery tasks").click()
    task = page.get_by_role("link", name=id)
    assert task.get_attribute("href") == f"{platform.run['flower']}/task/{id}"
    assert task.get_attribute("rel") == "external noopener noreferrer"
