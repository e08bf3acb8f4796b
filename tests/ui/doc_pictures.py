"""`make ui-pictures`, `python -m tests.ui.doc_pictures`: the pictures of the documentation, in docs/pictures.

Each is one screen of a platform at work, compressed as WebP by the browser itself. They hold nothing of the
machine that made them: the names and texts are the platform's own, and no page shows an address or a path.
"""

from __future__ import annotations

import base64
import json
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from config.settings import ROOT
from tests.support.platform import Platform, running_platform
from tests.support.waiting import wait_until
from tests.ui.browser.chat.chat_page import ChatPage
from tests.ui.browser.chat.records import write
from tests.ui.browser.conftest import ARGUMENTS, CHROMIUM
from tests.ui.chat_pictures import TRIP, compared, conversations
from tests.ui.guide_pictures import administrators, approvers, governed_platform, operators, tenants
from tests.ui.shots import MODELS, at_work

FOLDER = ROOT / "docs" / "pictures"
DESK = {"width": 1120, "height": 700}
WIDE = {"width": 1280, "height": 760}
PHONE = {"width": 360, "height": 720}
MAX_BYTES = 60_000
QUALITIES = (0.9, 0.8, 0.7, 0.6)
"""Of WebP: the first one that is small enough."""

COMPRESS = """async ([png, quality]) => {
    const image = new Image();
    image.src = `data:image/png;base64,${png}`;
    await image.decode();
    const canvas = document.createElement('canvas');
    canvas.width = image.width;
    canvas.height = image.height;
    canvas.getContext('2d').drawImage(image, 0, 0);
    return canvas.toDataURL('image/webp', quality).split(',')[1];
}"""


def main() -> int:
    """Write the pictures. Returns the exit code."""
    from playwright.sync_api import sync_playwright

    if CHROMIUM is None:
        print("Chromium is missing: run `apt-get install chromium`.", file=sys.stderr)
        return 1
    settings = {
        "models": {
            **MODELS,
            "summaries": {"backend": "stub", "on_demand": "load"},
            "stoker-demo": {"enabled": False, "on_demand": "load"},
            "stub": {"on_demand": "load"},
            "writer": {"backend": "stub", "enabled": True, "stub_tokens_per_s": 25},
            "large": {"backend": "stub", "enabled": True, "target_inflight": 1, "stub_tokens_per_s": 2},
        },
        "tools": {"enabled": ["all"], "write": ["default"]},
    }
    with (
        tempfile.TemporaryDirectory(prefix="stoker-pictures-") as data,
        running_platform(
            Path(data), settings, "--port", "0", "--no-flower", environment={"CUDA_VISIBLE_DEVICES": ""}
        ) as platform,
        at_work(platform),
        sync_playwright() as driver,
    ):
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        album = Album(browser, platform)
        for theme in ("light", "dark"):
            album.chat(theme)
            album.design(theme)
        album.phone()
        album.operators()
        album.guides()
        with governed_platform() as governed:
            Album(browser, governed).approvals()
        browser.close()
    print(f"the pictures are in {FOLDER.relative_to(ROOT)}")
    return 0


class Album:
    """Takes pictures of a platform in one browser."""

    def __init__(self, browser: Any, platform: Platform) -> None:
        self.browser = browser
        self.platform = platform
        self.compressor = browser.new_page()

    def chat(self, theme: str) -> None:
        """The chat on a desk; the light theme has the pictures of docs/chat.md as well."""
        chat = self._chat(theme, DESK)
        threads = conversations("writer")
        write(chat.page, *threads, compared("assistant", "writer"))
        chat.open(f"?c={threads[0].id}")
        chat.page.locator("main article math").first.wait_for()
        self._take(chat.page, f"design-chat-{theme}")
        if theme == "dark":
            chat.open(f"?c={compared('assistant', 'writer').id}")
            chat.page.get_by_role("group", name="Two answers to the same message").wait_for()
            self._take(chat.page, "chat-compare")
            return
        chat.open()
        answering(chat.page, f"/stub echo tokens_per_s=25 {TRIP}")
        chat.choose("writer")
        chat.send("Plan a weekend in Lisbon for two, on foot.")
        chat.page.get_by_text("buy those for the monastery").wait_for()
        self._take(chat.page, "chat")
        chat.wait_for("done")
        chat.open()
        answering(chat.page, "Summarise the minutes of this week's meetings.")
        occupy(self.platform, "large", 3)
        chat.choose("large")
        chat.send("Summarise the minutes of this week's meetings.")
        chat.page.get_by_text("in the queue").wait_for()
        self._take(chat.page, "chat-queue")
        chat.stop()
        chat.open()
        chat.page.get_by_role("button", name="Model:").click()
        chat.page.get_by_role("option").first.wait_for()
        self._take(chat.page, "chat-models")
        chat.open()
        chat.choose("writer")
        chat.page.get_by_role("button", name="Tools").click()
        chat.page.get_by_role("checkbox", name="Write file").check()
        chat.page.get_by_role("button", name="Close").click()
        arguments = json.dumps({"path": "notes/lisbon.md", "content": "# Lisbon\n\nSaturday: Alfama."})
        answering(chat.page, f"/stub tool_call=write_file {arguments}")
        chat.send("Save the plan for Saturday in my notes.")
        chat.page.get_by_role("button", name="Allow once").wait_for()
        self._take(chat.page, "chat-tools")
        chat.page.context.close()

    def phone(self) -> None:
        """The chat on a phone: a conversation, and the list."""
        chat = self._chat("light", PHONE, has_touch=True, is_mobile=True)
        threads = conversations("writer")
        write(chat.page, *threads)
        chat.open(f"?c={threads[0].id}")
        chat.page.locator("main article math").first.wait_for()
        self._take(chat.page, "chat-phone")
        chat.page.get_by_role("button", name="Show the conversations").click()
        chat.page.get_by_role("button", name="Close the conversations").wait_for()
        self._take(chat.page, "chat-phone-list")
        chat.page.context.close()

    def design(self, theme: str) -> None:
        """One screen each of a table, forms, a dialog and a chart, on the pages for operators."""
        page = self._operator(theme)
        self._open(page, "/ui/admin/models", "main tbody")
        self._take(page, f"design-table-{theme}")
        self._load_form(page, theme)
        self._open(page, "/ui/admin", "main svg")
        page.get_by_role("heading", name="Over time").evaluate("heading => heading.scrollIntoView()")
        self._take(page, f"design-chart-{theme}")
        self._open(page, "/ui/settings", "select")
        self._take(page, f"design-form-{theme}")
        page.keyboard.press("Control+/")
        page.get_by_role("dialog").wait_for()
        self._take(page, f"design-dialog-{theme}")
        page.context.close()

    def _load_form(self, page: Any, theme: str) -> None:
        """The load form, with a context that is larger than the model's own."""
        page.get_by_role("button", name="Load: stoker-demo", exact=True).click()
        dialog = page.get_by_role("dialog")
        dialog.get_by_label("Context of one request").fill("8192")
        dialog.get_by_text("was made for").first.wait_for()
        self._take(page, f"design-load-{theme}")
        page.keyboard.press("Escape")
        dialog.wait_for(state="detached")

    def operators(self) -> None:
        """The pictures of docs/ui.md."""
        page = self._operator("light")
        self._open(page, "/ui/admin/models", "main tbody")
        self._take(page, "ui-models")
        self._open(page, "/ui/admin/queue", "main [data-column=status]")
        self._take(page, "ui-queue")
        self._open(page, "/ui/admin", "main svg")
        self._take(page, "ui-overview")
        page.context.close()

    def guides(self) -> None:
        """The pictures of docs/guides, but those of approvers."""
        page = self._operator("light")
        operators(page, self.platform.url, self._take)
        administrators(page, self.platform.url, self._take)
        page.context.close()
        chat = self._chat("light", WIDE)
        tenants(chat.page, self.platform.url, self._take)
        chat.page.context.close()

    def approvals(self) -> None:
        """The pictures of a governed platform."""
        page = self._operator("light")
        approvers(page, self.platform.url, self._take)
        page.context.close()

    def _chat(self, theme: str, size: dict[str, int], **options: Any) -> ChatPage:
        context = self.browser.new_context(color_scheme=theme, viewport=size, **options)
        chat = ChatPage(context, self.platform.url)
        chat.sign_in(self.platform.keys["api_key"])
        return chat.open()

    def _operator(self, theme: str) -> Any:
        page = self.browser.new_context(color_scheme=theme, viewport=WIDE).new_page()
        _, link = self.platform.admin("POST", "/v1/session/links")
        page.goto(f"{self.platform.url}{link['path']}")
        page.wait_for_url(f"{self.platform.url}/ui/")
        page.get_by_role("textbox", name="Your message").wait_for()
        return page

    def _open(self, page: Any, path: str, expected: str) -> None:
        page.goto(self.platform.url + path)
        page.locator(expected).first.wait_for()

    def _take(self, page: Any, name: str) -> None:
        page.wait_for_timeout(500)  # what was opened has its place and its colours
        png = base64.b64encode(page.screenshot(caret="hide", animations="disabled")).decode()
        for quality in QUALITIES:
            picture = base64.b64decode(self.compressor.evaluate(COMPRESS, [png, quality]))
            if len(picture) <= MAX_BYTES:
                break
        else:
            raise AssertionError(f"{name} has {len(picture)} bytes")
        (FOLDER / f"{name}.webp").write_bytes(picture)


def occupy(platform: Platform, model: str, requests: int) -> None:
    """Send so many long requests of the chat's own tenant to a model; they end with the platform."""
    body = {"model": model, "input": "Translate the handbook.", "max_output_tokens": 1_000}
    key = platform.keys["api_key"]
    for _ in range(requests):
        send = threading.Thread(target=platform.call, args=("POST", "/v1/responses", body, key), daemon=True)
        send.start()
    wait_until(
        lambda: platform.model(model)["queue_depth"] >= requests - 1, 20, lambda: "the queue is not filled"
    )


def answering(page: Any, text: str) -> None:
    """Let the engine get this text instead of the message: it directs what the stub answers."""
    page.unroute_all()

    def change(route: Any) -> None:
        body = route.request.post_data_json
        body["input"] = [*body["input"][:-1], {"role": "user", "content": text}]
        route.continue_(post_data=json.dumps(body))

    page.route(lambda url: "/v1/responses?" in url or url.endswith("/v1/responses"), only_posts(change))


def only_posts(change: Callable[[Any], None]) -> Callable[[Any], None]:
    """A handler of routes that lets all but POST through."""
    return lambda route: change(route) if route.request.method == "POST" else route.continue_()


if __name__ == "__main__":
    sys.exit(main())
