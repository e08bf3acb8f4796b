"""`make bench-ui`, `python -m tests.ui.limits`: what an update of each page costs on a large platform.

163 models, 1,000 waiting jobs and 10,000 audit records. For each page: its elements, the largest answer that
it reads, the script of a reading on average, and the most script within a quarter of a second: at least that
of the most expensive update. Both are milliseconds of CPU of the page's thread, from the browser's own
counters, so that other programs count little. The bound is 100 ms; a figure above it is marked.
"""

from __future__ import annotations

import itertools
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from config.settings import RedisSettings, Settings
from governance.audit.chain_store import ChainStore
from governance.audit.event import AuditEvent
from store.redis_connections import command_client
from tests.support.platform import Platform, running_platform
from tests.ui.browser.conftest import ARGUMENTS, CHROMIUM

MODELS, JOBS, RECORDS = 163, 1_000, 10_000
SECONDS = 12
SAMPLE_MS = 250
BOUND_MS = 100
PAGES = {
    "Overview": ("/ui/admin", "figure svg"),
    "Models": ("/ui/admin/models", "tbody"),
    "Operations": ("/ui/admin/operations", "tbody"),
    "Workers": ("/ui/admin/workers", "tbody"),
    "Alerts": ("/ui/admin/alerts", "tbody"),
    "Queue": ("/ui/admin/queue", "[data-column=position]"),
    "Requests": ("/ui/admin/requests", "tbody"),
    "Tenants": ("/ui/admin/tenants", "tbody"),
    "Audit": ("/ui/admin/audit", "tbody"),
}
"""The path of each page, and what is there when it has been read."""
SETTINGS = {
    "models": {
        "stoker-demo": {"enabled": False},
        "slow": {"backend": "stub", "enabled": True, "target_inflight": 1, "stub_tokens_per_s": 1},
        **{f"org{place % 7}/model-{place}": {"backend": "stub"} for place in range(MODELS - 2)},
    },
    "queue": {"max_depth": 2 * JOBS, "max_depth_per_tenant": 2 * JOBS, "timeout_ms": 3_600_000},
}


def main() -> int:
    """Print a table of all pages. Returns the exit code: 1 if an update is over its bound."""
    from playwright.sync_api import sync_playwright

    if CHROMIUM is None:
        print("Chromium is missing: run `apt-get install chromium`.", file=sys.stderr)
        return 1
    with (
        tempfile.TemporaryDirectory(prefix="stoker-limits-") as data,
        running_platform(
            Path(data), SETTINGS, *("--port", "0", "--no-flower"), environment={"CUDA_VISIBLE_DEVICES": ""}
        ) as platform,
        sync_playwright() as driver,
    ):
        fill(platform)
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        page = browser.new_context(viewport={"width": 1280, "height": 900}).new_page()
        _, link = platform.admin("POST", "/v1/session/links")
        page.goto(f"{platform.url}{link['path']}")
        page.wait_for_url(f"{platform.url}/ui/")
        print(
            "| page | elements | largest reading (bytes) | script of a reading, on average | most in 250 ms |"
        )
        print("|---|---|---|---|---|")
        measures = {
            name: measure(page, platform.url + path, expected) for name, (path, expected) in PAGES.items()
        }
        for name, found in measures.items():
            print(found.row(name))
        browser.close()
    return int(any(found.most_ms > BOUND_MS for found in measures.values()))


@dataclass(frozen=True)
class Measure:
    """What the updates of a page cost."""

    elements: int
    reading_bytes: int
    mean_ms: float
    most_ms: float

    def row(self, name: str) -> str:
        mark = " (over the bound)" if self.most_ms > BOUND_MS else ""
        return (
            f"| {name} | {self.elements:,} | {self.reading_bytes:,} | {self.mean_ms:.0f} ms "
            f"| {self.most_ms:.0f} ms{mark} |"
        )


def measure(page: Any, address: str, expected: str) -> Measure:
    """Watch the updates of a page for some seconds, after it has settled."""
    page.goto(address)
    page.locator(expected).first.wait_for()
    page.wait_for_timeout(4_000)
    sizes: list[int] = []

    def count(response: Any) -> None:
        if "/v1/" in response.url and "json" in response.headers.get("content-type", ""):
            sizes.append(int(response.headers.get("content-length", "0")))

    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})

    def script_ms() -> float:
        metrics = session.send("Performance.getMetrics")["metrics"]
        return float(next(one["value"] for one in metrics if one["name"] == "ScriptDuration")) * 1_000

    page.on("response", count)
    samples = [script_ms()]
    for _ in range(SECONDS * 1_000 // SAMPLE_MS):
        page.wait_for_timeout(SAMPLE_MS)
        samples.append(script_ms())
    page.remove_listener("response", count)
    session.detach()
    return Measure(
        page.evaluate("document.querySelectorAll('*').length"),
        max(sizes, default=0),
        (samples[-1] - samples[0]) / max(1, len(sizes)),
        max(after - before for before, after in itertools.pairwise(samples)),
    )


def fill(platform: Platform) -> None:
    """Let jobs wait, and write the audit records."""
    platform.wait_state("slow", "loaded")
    key = platform.keys["api_key"]
    body = {"model": "slow", "input": "x", "background": True, "max_output_tokens": 10_000}
    with ThreadPoolExecutor(4) as pool:
        statuses = list(
            pool.map(lambda _: platform.call("POST", "/v1/responses", body, key)[0], range(JOBS + 1))
        )
    assert set(statuses) == {200}, set(statuses)
    settings = Settings(redis=RedisSettings(platform.redis_url()))
    store = ChainStore(command_client(settings), settings.redis.prefix)
    for number in range(RECORDS):
        store.add_pending(AuditEvent("acme", "admin key", "load", f"model-{number % MODELS}", "completed"))
        if number % 500 == 499:
            platform.wait_for(lambda: not store.waiting().events, 60, "records of the events so far")


if __name__ == "__main__":
    sys.exit(main())
