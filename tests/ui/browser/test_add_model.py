"""The page that adds a model: from a search of the tests' hub to an answer; cancel, continue, remove."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from config.settings import ROOT
from tests.support.hub_server import HubServer, Repository
from tests.support.platform import Platform, running_platform
from tests.ui.browser.conftest import check_accessible, recorded, wait_in_page

pytestmark = [pytest.mark.browser, pytest.mark.journey]

PATH = "/ui/admin/add"
REPOSITORY = "acme/Demo-GGUF"
FILE = "demo-Q4_K_M.gguf"
CHUNK = 1024 * 1024
"""The program that downloads writes pieces of this size."""

MODELS = {
    "stoker-demo": {"enabled": False},
    "stub": {"backend": "stub", "enabled": True},
    "org/slow": {"backend": "stub", "stub_load_s": 3, "on_demand": "load"},
}


@pytest.fixture(scope="module")
def hub() -> Iterator[HubServer]:
    weights = (ROOT / "models" / "stoker-demo.gguf").read_bytes()
    files = {"README.md": b"# Demo", FILE: weights, "demo-Q8_0.gguf": weights + bytes(2 * CHUNK)}
    with HubServer({REPOSITORY: Repository(files)}) as server:
        yield server


@pytest.fixture(scope="module")
def platform(tmp_path_factory: pytest.TempPathFactory, hub: HubServer) -> Iterator[Platform]:
    folder = tmp_path_factory.mktemp("add")
    with running_platform(
        folder / "up",
        {"models": MODELS},
        *("--port", "0", "--no-flower"),
        environment={"CUDA_VISIBLE_DEVICES": "", "HF_ENDPOINT": hub.url, "HF_HOME": str(folder / "hub")},
    ) as platform:
        yield platform


@pytest.fixture(autouse=True)
def _busy_answers(page: Any, problems: list[str]) -> Iterator[None]:  # noqa: ARG001 - it ends before the page
    """The pages ask again when the hub is asked by too many (503): the console has it as an error."""
    yield
    problems[:] = [line for line in problems if "status of 503" not in line]


def show(page: Any, source: str) -> None:
    """Enter a source, and wait for its plan."""
    page.get_by_role("searchbox", name="Model", exact=True).fill(source)
    page.get_by_role("button", name="Show this model").click()
    page.get_by_role("button", name="Add the model").and_(page.locator(":enabled")).wait_for()


def field(form: Any, name: str) -> Any:
    return form.locator(f"[data-field='{name}']")


def add(page: Any, name: str) -> None:
    page.get_by_label("Name", exact=True).fill(name)
    page.get_by_role("button", name="Add the model").click()


def test_a_model_of_the_hub_is_found_added_loaded_and_answers(signed_in: Callable[[str], Any]) -> None:
    page = signed_in("/ui/admin/models")
    began = time.monotonic()
    page.get_by_role("link", name="Add a model").click()
    page.get_by_role("searchbox", name="Model", exact=True).fill("demo")
    page.get_by_role("button", name=REPOSITORY).click()
    choice = page.get_by_role("radio", name=re.compile("^Q4_K_M"))
    choice.wait_for()
    fits = choice.locator("..").inner_text()
    assert re.search(r"KiB\s+fits\s+needs .+ of .+ are free", fits), fits
    page.get_by_text("it runs gguf weights").wait_for()  # the reason for the backend
    assert choice.is_checked()
    page.get_by_role("button", name="Add the model").click()
    page.get_by_role("status").get_by_text("is added").wait_for()
    page.get_by_role("button", name=re.compile("^Load: ")).click()
    page.get_by_role("dialog").get_by_text("It can begin").wait_for()
    page.get_by_role("dialog").get_by_role("button", name="Load", exact=True).click()
    page.get_by_role("button", name=re.compile("^Unload: ")).wait_for()
    name = page.get_by_role("link", name="Its page").get_attribute("href").partition("name=")[2]
    answer = page.evaluate(
        """async (model) => {
            const headers = { 'Content-Type': 'application/json', 'X-Stoker-UI': '1' };
            const body = JSON.stringify({ model, input: 'Hello', max_output_tokens: 8 });
            return (await fetch('../../v1/responses', { method: 'POST', headers, body })).json();
        }""",
        name,
    )
    assert answer["status"] in ("completed", "incomplete"), answer
    assert answer["usage"]["output_tokens"] > 0
    print(f"from the list of models to an answer of a new model: {time.monotonic() - began:.1f} s")


def test_a_cancelled_download_is_continued_where_it_ended(
    signed_in: Callable[[str], Any], hub: HubServer, platform: Platform
) -> None:
    page = signed_in(PATH)
    hub.hold, hub.hold_after = threading.Event(), CHUNK * 3 // 2
    try:
        show(page, f"{REPOSITORY}:Q8_0")
        add(page, "continued")
        card = page.get_by_role("listitem", name="Download of continued")
        card.get_by_text("running").wait_for()
        card.get_by_text("downloading: ").wait_for()
        blobs = Path(platform.environment["HF_HOME"])
        platform.wait_for(
            lambda: any(part.stat().st_size >= CHUNK for part in blobs.rglob("*.part")), 20, "a part on disk"
        )
        check_accessible(page)
        card.get_by_role("button", name="Cancel: Download of continued").click()
        page.get_by_role("dialog").get_by_role("button", name="Cancel the download").click()
        card.get_by_text("cancelled", exact=True).wait_for()
        assert platform.admin("GET", "/v1/admin/models/continued")[0] == 404
        page.get_by_role("button", name="Continue: Download of continued").click()
        # the first program has ended by then, so that it cannot complete the file
        platform.wait_for(lambda: any(first > 0 for _, first in hub.sent), 30, "the request for the rest")
    finally:
        hub.hold.set()
        hub.hold = None
    page.get_by_role("status").get_by_text("continued is added").wait_for()
    assert platform.model("continued")["registered"]


def test_errors_of_the_api_stand_at_their_fields(
    signed_in: Callable[[str], Any], problems: list[str]
) -> None:
    page = signed_in(PATH)
    page.get_by_role("searchbox", name="Model", exact=True).fill("acme/Nothing")
    page.get_by_role("button", name="Show this model").click()
    source = page.get_by_role("form", name="Model")
    source.get_by_role("alert").wait_for()
    show(page, f"{REPOSITORY}:Q4_K_M")
    assert source.get_by_role("alert").count() == 0
    page.get_by_label("Name", exact=True).fill("no such / name")
    page.get_by_role("alert").get_by_text("name must").wait_for()
    page.get_by_label("Name", exact=True).fill("stub")
    page.get_by_role("button", name="Add the model").click()
    page.get_by_role("alert").get_by_text("stub is set by the configuration").wait_for()
    page.get_by_label("Name", exact=True).fill("other")
    slots = field(page, "target_inflight")
    slots.get_by_role("textbox").fill("0")
    slots.get_by_role("alert").wait_for()
    problems[:] = [line for line in problems if "status of" not in line]


def test_a_default_is_changed_before_the_addition_and_a_policy_after_it(
    signed_in: Callable[[str], Any], platform: Platform
) -> None:
    page = signed_in(f"{PATH}?source={REPOSITORY}:Q4_K_M")
    field(page, "target_inflight").get_by_role("textbox").fill("3")
    field(page, "pin").get_by_role("combobox").select_option("true")
    add(page, "changed")
    page.get_by_role("link", name="Its page").click()
    page.wait_for_url("**/admin/model?name=changed")
    definition = platform.model("changed")["definition"]
    assert definition["target_inflight"] == 3
    assert definition["pin"] is True
    page.get_by_role("button", name="Change", exact=True).click()
    dialog = page.get_by_role("dialog")
    field(dialog, "idle_unload_s").get_by_role("textbox").fill("600")
    field(dialog, "pin").get_by_role("combobox").select_option("false")
    check_accessible(page)
    dialog.get_by_role("button", name="Save").click()
    page.get_by_text("600 s").wait_for()
    changed = platform.model("changed")["definition"]
    assert changed == definition | {"idle_unload_s": 600.0, "pin": False}


def test_the_row_of_a_model_has_its_policy_and_changes_that_of_a_registered_one(
    signed_in: Callable[[str], Any], platform: Platform
) -> None:
    page = signed_in(f"{PATH}?source={REPOSITORY}:Q4_K_M")
    add(page, "governed")
    page.get_by_role("status").get_by_text("governed is added").wait_for()
    page.goto(f"{platform.url}/ui/admin/models?sort=policy")
    row = page.locator("tbody[data-row=governed]")
    row.get_by_role("button", name="When governed is loaded: ").click()
    dialog = page.get_by_role("dialog", name="When governed is loaded")
    field(dialog, "idle_unload_s").get_by_role("textbox").fill("600")
    field(dialog, "pin").get_by_role("combobox").select_option("true")
    dialog.get_by_role("button", name="Save").click()
    dialog.wait_for(state="detached")
    row.get_by_role("button", name=re.compile("^When governed is loaded: pinned, .*idle 10 min$")).wait_for()
    definition = platform.model("governed")["definition"]
    assert (definition["pin"], definition["idle_unload_s"]) == (True, 600.0)

    page.get_by_role("button", name="When stub is loaded: by hand").click()
    dialog = page.get_by_role("dialog", name="When stub is loaded")
    dialog.get_by_text("This model is in the configuration").wait_for()
    assert dialog.get_by_role("button", name="Save").count() == 0
    check_accessible(page)


def test_a_policy_form_stays_with_what_was_typed_when_the_model_is_loaded_meanwhile(
    signed_in: Callable[[str], Any], platform: Platform
) -> None:
    page = signed_in(f"{PATH}?source={REPOSITORY}:Q4_K_M")
    add(page, "meanwhile")
    page.get_by_role("status").get_by_text("meanwhile is added").wait_for()
    page.goto(f"{platform.url}/ui/admin/models?q=meanwhile&state=unloaded")
    page.get_by_role("button", name="When meanwhile is loaded: ").click()
    dialog = page.get_by_role("dialog")
    seconds = field(dialog, "idle_unload_s").get_by_role("textbox")
    seconds.fill("700")
    platform.load("meanwhile")
    reason = dialog.get_by_text("can be changed while the model is not loaded")
    reason.wait_for()
    assert seconds.input_value() == "700"
    platform.run_operation("unload", "meanwhile")
    reason.wait_for(state="detached")
    dialog.get_by_role("button", name="Save").click()
    dialog.wait_for(state="detached")
    assert platform.model("meanwhile")["definition"]["idle_unload_s"] == 700.0


def test_a_removal_shows_the_files_that_it_deletes_and_no_repetition(
    signed_in: Callable[[str], Any], platform: Platform, problems: list[str]
) -> None:
    page = signed_in(f"{PATH}?source={REPOSITORY}:Q4_K_M")
    add(page, "removed")
    page.get_by_role("link", name="Its page").click()
    page.get_by_role("button", name="Remove", exact=True).click()
    dialog = page.get_by_role("dialog")
    assert f"hf://{REPOSITORY}@" in dialog.inner_text()
    dialog.get_by_role("button", name="Remove").click()
    page.get_by_text("There is no such model now").wait_for()
    page.goto(f"{platform.url}/ui/admin/operations?kind=remove")
    row = page.locator("tbody[data-row]").filter(has_text="Removal of removed")
    row.get_by_text("completed").wait_for()
    assert row.get_by_role("button", name=re.compile("^Run again")).count() == 0
    problems[:] = [line for line in problems if "status of 404" not in line]  # of each reading of the model


def test_requests_that_wait_for_a_load_are_shown_with_its_progress(
    signed_in: Callable[[str], Any], platform: Platform
) -> None:
    page = signed_in("/ui/admin/models")
    with ThreadPoolExecutor(1) as threads:
        asking = threads.submit(platform.respond, "org/slow", "Hello")
        row = page.locator("tbody[data-row='org/slow']")
        row.get_by_text("One request waits until the model is loaded.").wait_for()
        row.locator("progress").wait_for()
        row.get_by_text("loaded", exact=True).wait_for()
    status, answer = asking.result()
    assert status == 200, answer
    page.goto(f"{platform.url}/ui/admin/requests?request={recorded(platform, answer['id'])}")
    load = page.locator("dialog [data-phase=load]")
    load.get_by_text("Load of the model").wait_for()
    seconds = re.search(r"([\d.]+) s\b", load.inner_text())
    assert seconds is not None
    assert float(seconds[1]) > 2, "it takes three seconds"
    first = page.locator("dialog [data-phase]").first
    assert first.get_attribute("data-phase") == "load"
    assert float(load.locator("rect").last.get_attribute("width").rstrip("%")) > 50


def test_the_page_is_accessible_and_a_model_is_added_with_the_keyboard_alone(
    signed_in: Callable[[str], Any], platform: Platform
) -> None:
    page = signed_in(PATH)
    page.get_by_role("searchbox", name="Model", exact=True).focus()
    page.keyboard.type("demo")
    page.get_by_role("button", name=REPOSITORY).wait_for()
    check_accessible(page)
    page.keyboard.press("Tab")  # the button of the form
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.get_by_role("radio", name=re.compile("^Q4_K_M")).wait_for()
    page.get_by_role("button", name="Add the model").and_(page.locator(":enabled")).wait_for()
    check_accessible(page)
    page.get_by_label("Name", exact=True).focus()
    page.keyboard.type("by-keyboard")
    page.keyboard.press("Enter")
    page.get_by_role("status").get_by_text("by-keyboard is added").wait_for()
    wait_in_page(page, "() => document.activeElement !== null")
    assert platform.model("by-keyboard")["registered"]
