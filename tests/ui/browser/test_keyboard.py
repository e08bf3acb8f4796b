"""An administrator's whole journey with the keyboard alone: the focus is always visible and never lost."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.support.platform import Platform
from tests.support.waiting import scaled
from tests.ui.browser.conftest import wait_until_read

pytestmark = [pytest.mark.browser, pytest.mark.journey]

MAX_TABS = 160

FOCUS = """() => {
    const element = document.activeElement;
    if (!element || element === document.body) return null;
    const style = getComputedStyle(element);
    // the frame around a text area has its outline
    const framed = element.tagName === 'TEXTAREA' ? getComputedStyle(element.parentElement) : style;
    const width = ({ outlineStyle, outlineWidth }) => outlineStyle === 'none' ? 0 : parseFloat(outlineWidth);
    const outline = Math.max(width(style), width(framed));
    const box = element.getBoundingClientRect();
    const on = document.elementFromPoint(box.x + box.width / 2, box.y + Math.min(box.height / 2, 20));
    const label = element.getAttribute('aria-label') ?? (element.labels?.[0] ?? element).innerText ?? '';
    return {
        name: label.trim().split('\\n')[0],
        tag: element.tagName,
        outlined: outline >= 2 || style.boxShadow !== 'none',
        seen: on !== null && (element.contains(on) || on.contains(element)),
        modal: element.closest('dialog') !== null,
    };
}"""

HAS_FOCUS = "element => element === document.activeElement"


class Keyboard:
    """The keys of a page; each step checks what has the focus."""

    def __init__(self, page: Any) -> None:
        self._page = page

    def focus(self) -> dict[str, Any]:
        """What has the focus: something that is visible, with an outline."""
        found: dict[str, Any] | None = self._page.evaluate(FOCUS)
        assert found is not None, "nothing has the focus"
        assert found["outlined"], found
        assert found["seen"], found
        return found

    def to(self, target: Any, key: str = "Tab") -> None:
        """Press Tab until a control has the focus: with this name, or of a locator: names may change."""
        passed = []
        for _ in range(MAX_TABS):
            self._page.keyboard.press(key)
            if self._page.evaluate("document.activeElement === document.body"):
                continue  # the end of the page: the browser goes on at its beginning
            passed.append(self.focus()["name"])
            if passed[-1] == target if isinstance(target, str) else target.evaluate(HAS_FOCUS):
                return
        raise AssertionError(f"{target} is not reached: {passed}")

    def press(self, *keys: str) -> None:
        """Press keys, one after the other."""
        for key in keys:
            self._page.keyboard.press(key)


def test_a_model_is_loaded_and_unloaded_with_the_keyboard_alone(page: Any, platform: Platform) -> None:
    platform.run_operation("unload", "stub")
    keyboard = Keyboard(page)
    row = page.locator("tbody[data-row='stub']")
    page.goto(f"{platform.url}/ui/sign-in?to=/admin/models")
    page.wait_for_selector("input[name=key]")
    keyboard.to("API key")
    page.keyboard.type(platform.keys["admin_key"])
    keyboard.press("Enter")
    row.wait_for()

    keyboard.to("Load: stub")
    keyboard.press("Enter")
    page.wait_for_selector("dialog[open]")
    assert keyboard.focus()["modal"]
    keyboard.press("Escape")
    page.wait_for_selector("dialog[open]", state="detached")
    assert keyboard.focus()["name"] == "Load: stub"  # it returns to where it was

    keyboard.press("Space")
    page.get_by_text("It can begin").wait_for()  # what comes later would move what has the focus
    for _ in range(MAX_TABS):
        keyboard.press("Tab")
        # from the end of a dialog the browser goes on in its own window, and then at the dialog's beginning
        if not page.evaluate("document.activeElement === document.body"):
            assert keyboard.focus()["modal"]
    keyboard.to("Load")
    keyboard.press("Enter")
    page.wait_for_selector("dialog[open]", state="detached")
    row.get_by_text("loaded", exact=True).wait_for()
    keyboard.focus()  # the button has gone: what is around it has the focus

    keyboard.to("Unload: stub")
    keyboard.press("Enter")
    row.get_by_text("unloaded", exact=True).wait_for()
    keyboard.focus()
    keyboard.to("Sign out", "Shift+Tab")
    keyboard.press("Space")
    page.wait_for_url("**/ui/sign-in")
    platform.load("stub")


def test_a_dialog_opens_again_when_its_button_is_pressed_right_after_escape(
    platform: Platform, signed_in: Callable[[str], Any]
) -> None:
    platform.run_operation("unload", "stub")
    page = signed_in("/ui/admin/models")
    page.get_by_role("button", name="Load: stub", exact=True).focus()
    page.keyboard.press("Space")
    page.wait_for_selector("dialog[open]")
    for _ in range(30):
        page.keyboard.press("Escape")
        page.keyboard.press("Space")  # the browser's `close` event may be delivered only now
        page.wait_for_selector("dialog[open]", timeout=scaled(5_000))
    page.keyboard.press("Escape")
    page.wait_for_selector("dialog", state="detached")
    platform.load("stub")


def test_each_page_is_reached_with_the_keyboard_and_its_content_by_the_skip_link(
    page: Any, platform: Platform, signed_in: Callable[[str], Any]
) -> None:
    signed_in("/ui/admin/models")
    keyboard = Keyboard(page)
    # the number of alerts stands behind its link
    titles = [text.split("\n")[0] for text in page.locator("nav a").all_inner_texts()]
    assert len(titles) > 5
    for title in titles:
        page.goto(f"{platform.url}/ui/admin/models")
        page.wait_for_selector("tbody th a")
        keyboard.to(title)
        keyboard.press("Enter")
        page.wait_for_selector(f"nav a[aria-current=page]:has-text('{title}')")
        assert page.title().startswith(page.locator("h1").inner_text())
    page.goto(f"{platform.url}/ui/admin/models")
    page.wait_for_selector("tbody th a")
    keyboard.press("Tab")
    assert keyboard.focus()["name"] == "Skip to the content"
    keyboard.press("Enter")
    keyboard.press("Tab")
    assert page.evaluate("document.activeElement.closest('main') !== null")


@pytest.mark.parametrize("width", [360, 1280])
def test_each_control_of_each_page_has_the_focus_once_and_visibly(
    page: Any, signed_in: Callable[[str], Any], width: int
) -> None:
    signed_in("/ui/admin/models")
    page.set_viewport_size({"width": width, "height": 800})
    keyboard = Keyboard(page)
    for path in page.locator("nav a").evaluate_all("links => links.map((link) => link.href)"):
        page.goto(path)
        page.wait_for_selector("h1")
        wait_until_read(page)
        page.evaluate("() => { window.focused = new Set(); }")
        for _ in range(MAX_TABS):
            keyboard.press("Tab")
            if page.evaluate("document.activeElement === document.body"):
                break
            keyboard.focus()
            known = page.evaluate(
                "() => { const known = focused.has(document.activeElement);"
                " focused.add(document.activeElement); return known; }"
            )
            if known:
                break  # the beginning again
        assert page.evaluate("focused.size") >= len(page.locator("nav a").all())
