"""The table of models: search, order, filters, columns in the address, bulk actions, phones, 163 models."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.support.platform import Platform, running_platform
from tests.ui.browser.conftest import HOSTILE, check_accessible, wait_in_page

pytestmark = [pytest.mark.browser, pytest.mark.journey]

PATH = "/ui/admin/models"
COUNT = 163

NAMED = {
    "stub": {"backend": "stub", "enabled": True},
    "second": {"backend": "stub"},
    "third": {"backend": "stub"},
    "broken": {"backend": "stub", "stub_load_fail": HOSTILE},
    "stoker-demo": {"enabled": False},
}
MANY = {f"org{place % 7}/model-{place}": {"backend": "stub"} for place in range(COUNT - len(NAMED))}


@pytest.fixture(scope="module")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    with running_platform(
        tmp_path_factory.mktemp("table"),
        {"models": NAMED | MANY},
        *("--port", "0", "--no-flower"),
        environment={"CUDA_VISIBLE_DEVICES": ""},
    ) as platform:
        yield platform


def names(page: Any) -> list[str]:
    """The models that are shown, in their order."""
    shown: list[str] = page.locator("tbody").evaluate_all("rows => rows.map((row) => row.dataset.row)")
    return shown


def heading(page: Any, title: str) -> Any:
    return page.get_by_role("columnheader", name=re.compile(f"^{title}"))


def select(page: Any, *models: str) -> None:
    for model in models:
        page.get_by_role("checkbox", name=f"Select {model}", exact=True).check()


def test_a_search_an_order_and_a_filter_are_in_the_address_and_come_back_with_it(
    signed_in: Callable[[str], Any],
) -> None:
    page = signed_in(PATH)
    assert len(names(page)) == COUNT
    assert "?" not in page.url
    page.get_by_role("searchbox", name="Search").fill("ORG3 model")
    page.get_by_role("combobox", name="State").select_option("unloaded")
    heading(page, "Model").get_by_role("button").click()
    assert heading(page, "Model").get_attribute("aria-sort") == "descending"
    assert page.url.endswith("?q=ORG3+model&sort=-name&state=unloaded")
    shown = names(page)
    expected = sorted((name for name in MANY if name.startswith("org3/")), key=lambda name: int(name[11:]))
    assert shown == expected[::-1], "names are ordered as people count"
    page.get_by_role("status").get_by_text(f"{len(shown)} of {COUNT}", exact=True).wait_for()

    page.reload()
    page.wait_for_selector("tbody th a")
    assert names(page) == shown
    assert page.get_by_role("searchbox", name="Search").input_value() == "ORG3 model"
    page.get_by_role("button", name="Show all").click()
    assert len(names(page)) == COUNT
    assert page.url.endswith("?sort=-name")
    page.get_by_role("searchbox", name="Search").fill("no such model")
    page.get_by_text("No row fits the search and the filters.").wait_for()


def test_columns_are_chosen_in_the_address_and_the_actions_stay_in_view(
    signed_in: Callable[[str], Any],
) -> None:
    page = signed_in(PATH)
    assert heading(page, "Backend").count() == 0
    page.locator("summary:text-is('Columns')").click()
    page.get_by_role("checkbox", name="Backend").check()
    page.get_by_role("checkbox", name="Context").uncheck()
    heading(page, "Backend").wait_for()
    page.reload()
    heading(page, "Backend").wait_for()
    assert heading(page, "Context").count() == 0
    assert page.locator("tbody[data-row=stub] [data-column=backend]").inner_text() == "stub"
    page.set_viewport_size({"width": 900, "height": 800})  # less than the columns need
    box = page.locator("tbody[data-row=stub] [data-column=actions]").bounding_box()
    assert box["x"] + box["width"] <= 900


def test_several_models_are_loaded_and_unloaded_after_a_dialog_that_shows_each(
    signed_in: Callable[[str], Any], platform: Platform
) -> None:
    page = signed_in(f"{PATH}?q=stub")
    select(page, "second", "third", "stub")
    chosen = page.get_by_role("group", name="3 selected")
    chosen.get_by_role("button", name="Load 2 models").click()
    dialog = page.get_by_role("dialog", name="Load 2 models?")
    for model in ("second", "third"):
        dialog.get_by_role("row", name=model).get_by_text("Begins on cpu0").wait_for()
    assert platform.model("second")["runtime_state"] == "unloaded", "nothing begins before the button"
    dialog.get_by_role("button", name="Load 2 models").click()
    dialog.get_by_text("Begun").nth(1).wait_for()
    dialog.get_by_role("button", name="Close").click()
    for model in ("second", "third"):
        page.locator(f"tbody[data-row={model}]").get_by_text("loaded", exact=True).wait_for()
    assert page.get_by_role("group", name=re.compile("selected$")).count() == 0

    _, answer = platform.respond("second", "/stub tokens=1000 tokens_per_s=1", background=True)
    page.locator("tbody[data-row=second]").get_by_text(re.compile("^1 of ")).wait_for()
    select(page, "second", "third")
    page.get_by_role("button", name="Unload 2 models").click()
    dialog = page.get_by_role("dialog", name="Unload 2 models?")
    dialog.get_by_role("row", name="second").get_by_text("1 running request finishes").wait_for()
    dialog.get_by_role("row", name="third").get_by_text("0 running requests finish").wait_for()
    dialog.get_by_role("button", name="Unload 2 models").click()
    dialog.get_by_text("Begun").nth(1).wait_for()
    assert platform.call("POST", f"/v1/responses/{answer['id']}/cancel")[0] == 200
    dialog.get_by_role("button", name="Close").click()
    for model in ("second", "third"):
        page.locator(f"tbody[data-row={model}]").get_by_text("unloaded", exact=True).wait_for()


def test_the_rows_keep_their_order_while_the_pointer_is_among_them(
    signed_in: Callable[[str], Any], platform: Platform
) -> None:
    page = signed_in(f"{PATH}?sort=-replicas")
    page.locator("tbody[data-row=stub]").get_by_text("loaded", exact=True).wait_for()
    before = names(page)
    assert (before[0], before[-1]) == ("stub", "third")
    page.locator("tbody[data-row=stub] [data-column=state]").hover()
    platform.load("third")
    page.locator("tbody[data-row=third]").get_by_text("loaded", exact=True).wait_for()
    assert names(page) == before
    page.get_by_role("heading", name="Models").hover()
    wait_in_page(page, "() => document.querySelectorAll('tbody')[1].dataset.row === 'third'")
    platform.run_operation("unload", "third")


def test_a_second_click_at_one_place_does_not_meet_the_next_row(
    signed_in: Callable[[str], Any], platform: Platform
) -> None:
    for model in ("second", "third"):
        platform.load(model)
    page = signed_in(f"{PATH}?state=loaded")
    row = page.locator("tbody[data-row=second]")
    box = row.get_by_role("button", name="Unload: second").bounding_box()
    place = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.click(*place)
    row.get_by_text("unloaded", exact=True).wait_for()
    page.get_by_role("status").get_by_text(f"2 of {COUNT}", exact=True).wait_for()
    assert names(page) == ["second", "stub", "third"]
    assert row.get_by_role("checkbox").is_disabled(), "nothing happens to a row that the filter hides"
    page.mouse.click(*place)
    page.get_by_role("dialog", name="Load: second").wait_for()
    page.keyboard.press("Escape")
    page.get_by_role("heading", name="Models").hover()
    row.wait_for(state="detached")
    assert platform.model("third")["runtime_state"] == "loaded"
    platform.run_operation("unload", "third")


def test_a_load_form_stays_while_its_row_leaves_by_a_filter(
    signed_in: Callable[[str], Any], platform: Platform
) -> None:
    page = signed_in(f"{PATH}?q=third&state=unloaded")
    page.get_by_role("button", name="Load: third").click()
    dialog = page.get_by_role("dialog", name="Load: third")
    dialog.wait_for()
    platform.load("third")
    page.get_by_text("No row fits the search and the filters.").wait_for()
    assert dialog.is_visible()
    page.keyboard.press("Escape")
    dialog.wait_for(state="detached")
    platform.run_operation("unload", "third")
    page.locator("tbody[data-row=third]").wait_for()


def test_the_question_about_an_unload_stays_while_its_row_leaves_by_a_filter(
    signed_in: Callable[[str], Any], platform: Platform
) -> None:
    platform.load("second")
    _, answer = platform.respond("second", "/stub tokens=1000 tokens_per_s=1", background=True)
    page = signed_in(f"{PATH}?q=second&state=loaded")
    page.get_by_role("button", name="Unload: second").click()
    dialog = page.get_by_role("dialog", name="Unload second?")
    dialog.get_by_text("1 running request finishes").wait_for()
    assert platform.call("POST", f"/v1/responses/{answer['id']}/cancel")[0] == 200
    platform.run_operation("unload", "second")
    page.get_by_text("No row fits the search and the filters.").wait_for()
    assert dialog.is_visible()


def test_the_replicas_of_a_model_have_their_workers_in_words(signed_in: Callable[[str], Any]) -> None:
    page = signed_in(PATH)
    page.locator("tbody[data-row=stub]").get_by_role("img", name="up on cpu0").wait_for()


def test_a_phone_shows_two_lines_for_a_model_with_its_action(signed_in: Callable[[str], Any]) -> None:
    page = signed_in(PATH)
    page.set_viewport_size({"width": 390, "height": 844})
    card = page.locator("tbody[data-row='org1/model-1']")
    card.scroll_into_view_if_needed()
    button = card.get_by_role("button", name="Load: org1/model-1")
    assert button.is_visible()
    name, action, state = (
        one.bounding_box() for one in (card.locator("th"), button, card.get_by_text("unloaded", exact=True))
    )
    assert abs(name["y"] + name["height"] / 2 - action["y"] - action["height"] / 2) < 8, "in one line"
    assert state["y"] >= action["y"] + action["height"] - 1
    assert card.bounding_box()["height"] <= 96
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.get_by_label("Order").select_option("-name")
    assert names(page)[:2] == ["third", "stub"]


@pytest.mark.parametrize(
    "query", ["?q=org1/model-1", "?q=org1/model-1&columns=file.weights.cache.cacheUse.input.backend"]
)  # few rows, as axe needs 30 s for all of them
def test_the_table_has_no_violation_of_wcag(signed_in: Callable[[str], Any], query: str) -> None:
    page = signed_in(f"{PATH}{query}")
    page.get_by_role("checkbox", name="Select org1/model-1", exact=True).check()
    page.get_by_role("button", name="Load 1 model").wait_for()
    check_accessible(page)


CHANGED = """() => {
    window.changed = new Set();
    const rowOf = ({ target }) =>
        (target instanceof Element ? target : target.parentElement)?.closest('tbody');
    const observer = new MutationObserver((found) => {
        for (const one of found) if (rowOf(one)) window.changed.add(rowOf(one).dataset.row);
    });
    observer.observe(document.querySelector('main'), {
        subtree: true, childList: true, characterData: true, attributes: true,
    });
}"""
"""Note the rows of which an element changes."""


def test_an_update_changes_one_row_of_163(
    page: Any, signed_in: Callable[[str], Any], platform: Platform
) -> None:
    signed_in(PATH)
    assert len(names(page)) == COUNT
    assert page.locator("main").bounding_box()["height"] < 2 * page.viewport_size["height"]
    page.evaluate(CHANGED)
    row = page.locator("tbody[data-row=second]")
    platform.load("second")
    row.get_by_text("loaded", exact=True).wait_for()
    platform.run_operation("unload", "second")
    row.get_by_text("unloaded", exact=True).wait_for()
    assert page.evaluate("[...window.changed]") == ["second"]
