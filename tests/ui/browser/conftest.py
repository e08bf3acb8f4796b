"""A running platform, and pages of a real browser that fail a test on whatever should not happen."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Callable, Generator, Iterator
from typing import Any

import pytest

from config.settings import ROOT
from tests.support.platform import Platform, running_platform
from tests.support.waiting import scaled, wait_until

CHROMIUM = shutil.which("chromium-headless-shell") or shutil.which("chromium")
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-background-networking"]
AXE = ROOT / "ui" / "node_modules" / "axe-core" / "axe.min.js"
WCAG = ["wcag2a", "wcag2aa", "wcag21aa", "wcag22aa"]
HOSTILE = "<img src=x onerror=alert(1)>"
MODELS = {
    "stub": {"backend": "stub", "enabled": True},
    "broken": {"backend": "stub", "stub_load_fail": HOSTILE},
    "unlucky": {"backend": "stub", "stub_load_fail": HOSTILE},  # loaded by one test alone: its first failure
    "org/slow": {"backend": "stub", "stub_load_s": 60},  # tests cancel its load, which a slow page finds, too
}


@pytest.fixture(scope="session")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    with running_platform(
        tmp_path_factory.mktemp("ui"),
        {"models": MODELS},
        *("--port", "0", "--no-flower"),
        environment={"CUDA_VISIBLE_DEVICES": ""},
    ) as platform:
        yield platform


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    if CHROMIUM is None:
        pytest.skip("chromium is not installed: apt-get install chromium")
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture
def problems() -> list[str]:
    """What went wrong in the pages of a test; a test may remove what it expects."""
    return []


@pytest.fixture
def page(chromium: Any, platform: Platform, problems: list[str]) -> Iterator[Any]:
    """A page in a profile of its own.

    A violation of the policy and a refused request are errors in the console: the test fails at its end for
    an error in the console, an exception that nothing caught, and a request to another origin.
    """
    context = chromium.new_context()
    page = context.new_page()
    refused: list[str] = []
    page.on("response", lambda one: refused.append(f"{one.status} {one.url}") if one.status >= 400 else None)
    page.on("console", lambda line: problems.append(line.text) if is_problem(line) else None)
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on(
        "request",
        lambda request: None if request.url.startswith(platform.url) else problems.append(request.url),
    )
    yield page
    close(context)
    assert problems == [], refused


def is_problem(line: Any) -> bool:
    """Whether a line of the console is one: not that `/health`, which each page asks, has answered 503."""
    return line.type in ("error", "warning") and not line.location["url"].endswith("/health")


def close(context: Any) -> None:
    """Close a profile. A handler of a request that is cut off by this would fail the next test.

    So would one that a test has removed with `unroute_all` while it was fetching: a test leaves it to this.
    """
    for page in context.pages:
        page.unroute_all(behavior="ignoreErrors")
    context.unroute_all(behavior="ignoreErrors")
    context.close()


@pytest.fixture
def link(platform: Platform) -> Callable[[], str]:
    """Make a sign-in link that leads to the page Models."""

    def make() -> str:
        status, answer = platform.admin("POST", "/v1/session/links")
        assert status == 201, answer
        path, _, token = answer["path"].partition("#")
        return f"{platform.url}{path}?to=/admin/models#{token}"

    return make


@pytest.fixture
def signed_in(page: Any, platform: Platform, link: Callable[[], str]) -> Callable[[str], Any]:
    """Open a page of the UI by its path (`/ui/admin/queue`) as an administrator."""

    def open_page(path: str) -> Any:
        page.goto(link())
        page.wait_for_selector("tbody th a")
        if not page.url.endswith(path):
            page.goto(platform.url + path)
        page.wait_for_selector("h1")
        return page

    return open_page


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A test that failed also shows the text of its pages."""
    report = yield
    if report.failed and call.when == "call":
        for name, value in getattr(item, "funcargs", {}).items():
            page = getattr(value, "page", value)
            if hasattr(page, "inner_text") and hasattr(page, "url"):
                try:
                    report.sections.append(
                        (f"{name}: {page.url}", page.inner_text("body", timeout=scaled(2_000)))
                    )
                except Exception as error:  # the page itself may have gone
                    report.sections.append((name, repr(error)))
    return report


def recorded(platform: Platform, id: str) -> str:
    """The id of an ended request, once the history has it: a page that asks for it before gets a 404."""
    record = f"/v1/admin/requests/{id}"
    platform.wait_for(lambda: platform.admin("GET", record)[0] == 200, 10, "the record of the request")
    return id


def wait_in_page(page: Any, expression: str, argument: Any = None, seconds: float = 30) -> None:
    """Wait until a function of the page returns a true value.

    An error counts as false: the element that the function reads, or the document, may be replaced meanwhile.

    `Page.wait_for_function` polls inside the page, where the content security policy refuses its `eval`: it
    works only if the first look is true.
    """
    from playwright.sync_api import Error  # only these tests need it, and each run imports this file

    problem = ""

    def look() -> object:
        nonlocal problem
        try:
            found, problem = page.evaluate(expression, argument), ""
        except Error as error:
            found, problem = None, f": {error}"
        return found or page.wait_for_timeout(20)

    wait_until(look, seconds, lambda: f"{expression} of {page.url}{problem}")


def intercept(page: Any, addresses: Any, handler: Any) -> None:
    """Have a handler answer the requests of a page to some addresses, from now on.

    `page.route` returns before the page knows it, and a key that is pressed next would arrive there first.
    An expression is evaluated after what the page was sent before.
    """
    page.route(addresses, handler)
    page.evaluate("0")


class HeldRequests:
    """The requests of a page to some addresses, which do not reach the platform before `release`."""

    def __init__(self, page: Any, addresses: Any, method: str = "GET") -> None:
        self._page, self._method = page, method
        self._held: list[Any] = []
        self._holds = True
        intercept(page, addresses, lambda route: self._handle(route))  # noqa: PLW0108 - Playwright marks it

    def _handle(self, route: Any) -> None:
        if self._holds and route.request.method == self._method:
            self._held.append(route)
        else:
            route.continue_()

    def wait(self) -> None:
        """Wait until one is held."""
        wait_until(lambda: self._held or self._page.wait_for_timeout(20), 10, lambda: "no request was sent")

    def release(self) -> None:
        """Let these and all later ones reach the platform."""
        self._holds = False
        for route in self._held:
            route.continue_()


def wait_until_read(page: Any) -> None:
    """Wait until nothing of a page for operators waits for its first answer, which would move the rest."""
    reading = "main.innerText.includes('Reading from the platform')"
    wait_in_page(page, f"() => {{ const main = document.querySelector('main'); return !{reading}; }}")


SETTLE = """async () => {
    const frame = () => new Promise((done) => requestAnimationFrame(done));
    await frame();
    await frame();
    const ends = (animation) => animation.effect.getComputedTiming().endTime < Infinity;
    await Promise.allSettled(document.getAnimations().filter(ends).map((one) => one.finished));
}"""
"""Observers of sizes have been called, and transitions are over."""


def check_accessible(page: Any) -> None:
    """Check what is shown against WCAG 2.2 AA, in both themes, on a phone and on a desk; the width, too."""
    assert AXE.exists(), "axe-core is missing: run `npm ci --ignore-scripts` in ui/"
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE.read_text())
    for theme in ("light", "dark"):
        page.emulate_media(color_scheme=theme)
        for width in (360, 1280):
            page.set_viewport_size({"width": width, "height": 800})
            page.evaluate(SETTLE)
            result = page.evaluate("tags => axe.run({ runOnly: tags })", WCAG)
            found = [(rule["id"], [node["html"] for node in rule["nodes"]]) for rule in result["violations"]]
            assert found == [], (theme, width)
            assert result["passes"]
            assert page.evaluate("document.documentElement.scrollWidth") <= width


NUMBERS = itertools.count()


@pytest.fixture
def tenant(platform: Platform) -> Iterator[str]:
    """A tenant of the test's own, with room for two requests an hour: none is free again during a test."""
    name = f"acme-{next(NUMBERS)}"
    status, answer = platform.admin("POST", "/v1/admin/tenants", {"name": name, "rate_limit": "2req/hour"})
    assert status == 201, answer
    yield name
    platform.admin("DELETE", f"/v1/admin/tenants/{name}")


@pytest.fixture
def key(platform: Platform, tenant: str) -> str:
    """A key of this tenant, whose label is hostile."""
    status, answer = platform.admin("POST", "/v1/admin/keys", {"tenant": tenant, "label": HOSTILE})
    assert status == 201, answer
    return str(answer["key"])
