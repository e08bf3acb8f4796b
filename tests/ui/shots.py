"""`make ui-shots`, `python -m tests.ui.shots FOLDER`: pictures of the UI's pages, of a platform at work.

In both themes, on a desk and on a phone.
"""

from __future__ import annotations

import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.support.platform import Platform, running_platform
from tests.ui.browser.chat.records import write
from tests.ui.browser.conftest import ARGUMENTS, CHROMIUM
from tests.ui.chat_pictures import conversations

# the overview is the last one: its charts have a sample each 10 seconds
PAGES = {
    "models": "/ui/admin/models",
    "model": "/ui/admin/model?name=assistant",
    "operations": "/ui/admin/operations",
    "workers": "/ui/admin/workers",
    "alerts": "/ui/admin/alerts",
    "queue": "/ui/admin/queue",
    "requests": "/ui/admin/requests",
    "tenants": "/ui/admin/tenants",
    "cache": "/ui/admin/cache",
    "approvals": "/ui/admin/approvals",
    "audit": "/ui/admin/audit",
    "overview": "/ui/admin",
}
SIZES = {"desk": (1280, 900), "phone": (360, 800)}

PRINTED = """reading the file: 291 tensors, 4.6 GiB
layers 0 to 23: 3,512 MiB on the device
layer 24: cannot allocate 147 MiB (92 MiB are free)
Error: not enough memory for 32 layers"""
"""What the engine of the model that fails prints."""
MODELS = {
    "stoker-demo": {"enabled": False},
    "assistant": {"backend": "stub", "enabled": True, "stub_tokens_per_s": 30, "target_inflight": 2},
    "coder": {"backend": "stub", "enabled": True, "stub_tokens_per_s": 20},
    "summaries": {"backend": "stub"},
    "translator": {
        "backend": "stub",
        "stub_load_fail": "not enough memory for 32 layers",
        "stub_print": PRINTED.replace("\n", "\\n"),
    },
}
TENANTS = ("research", "support", "website")


def main(folder: Path) -> int:
    """Write the pictures into the folder. Returns the exit code."""
    from playwright.sync_api import sync_playwright

    if CHROMIUM is None:
        print("Chromium is missing: run `apt-get install chromium`.", file=sys.stderr)
        return 1
    folder.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory(prefix="stoker-shots-") as data,
        running_platform(
            Path(data),
            {"models": MODELS},
            *("--port", "0", "--no-flower"),
            environment={"CUDA_VISIBLE_DEVICES": ""},
        ) as platform,
        at_work(platform),
        sync_playwright() as driver,
    ):
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        for theme in ("light", "dark"):
            for size, (width, height) in SIZES.items():
                viewport = {"width": width, "height": height}
                context = browser.new_context(color_scheme=theme, viewport=viewport)
                take(context, platform, folder, f"{size}-{theme}")
                context.close()
        browser.close()
    print(f"{len(list(folder.glob('*.png')))} pictures are in {folder}")
    return 0


def take(context: Any, platform: Platform, folder: Path, kind: str) -> None:
    """Write the pictures of all pages in one theme and size."""
    _, link = platform.admin("POST", "/v1/session/links")
    page = context.new_page()
    page.goto(f"{platform.url}{link['path']}")
    page.wait_for_url(f"{platform.url}/ui/")
    take_chat(page, platform, folder, kind)
    for name, path in PAGES.items():
        page.goto(platform.url + path)
        page.wait_for_selector("h1")
        page.wait_for_timeout(1_500)  # what the page polls has come
        page.screenshot(path=folder / f"{name}-{kind}.png", full_page=kind.startswith("desk"))


def take_chat(page: Any, platform: Platform, folder: Path, kind: str) -> None:
    """Write the pictures of the chat: a fresh conversation, one with answers, and one that waits."""
    composer = page.get_by_role("textbox", name="Your message")
    composer.wait_for()
    page.wait_for_timeout(1_000)
    page.screenshot(path=folder / f"chat-new-{kind}.png")
    threads = conversations("assistant")
    write(page, *threads)
    page.goto(f"{platform.url}/ui/?c={threads[0].id}")
    page.locator("main article[data-status]").nth(1).wait_for()
    page.wait_for_timeout(2_000)  # the colours of code and the formulas have come
    page.screenshot(path=folder / f"chat-{kind}.png")
    page.locator("main article[data-status]").first.scroll_into_view_if_needed()
    page.screenshot(path=folder / f"chat-code-{kind}.png")
    page.goto(f"{platform.url}/ui/settings")
    page.wait_for_selector("h1", state="attached")
    page.wait_for_timeout(500)
    page.screenshot(path=folder / f"chat-settings-{kind}.png")


@contextmanager
def at_work(platform: Platform) -> Iterator[None]:
    """Some tenants ask for answers all the time, one model has failed, another was unloaded."""
    keys = {}
    for tenant in TENANTS:
        platform.admin(
            "POST",
            "/v1/admin/tenants",
            {"name": tenant, "weight": 1 + TENANTS.index(tenant), "rate_limit": "600req/min"},
        )
        _, created = platform.admin("POST", "/v1/admin/keys", {"tenant": tenant, "scopes": ["inference"]})
        keys[tenant] = created["key"]
    platform.admin("POST", "/v1/admin/models/translator/load", {})
    platform.run_operation("load", "summaries")
    platform.run_operation("unload", "summaries")
    stop = threading.Event()

    def ask(tenant: str, model: str) -> None:
        body = {"model": model, "input": "Summarise the report of this week.", "max_output_tokens": 200}
        while not stop.is_set():
            platform.call("POST", "/v1/responses", body, keys[tenant])

    threads = [
        threading.Thread(target=ask, args=(tenant, model), daemon=True)
        for tenant in TENANTS
        for model in ("assistant", "assistant", "coder")
    ]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
