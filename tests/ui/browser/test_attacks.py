"""Hostile texts run nothing on any page of the UI."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

import pytest

from config.settings import ROOT
from tests.support.platform import Platform, running_platform
from tests.ui.browser.hostile_answers import HostileAnswers
from tests.ui.browser.hostile_texts import MARK, VECTORS

pytestmark = [pytest.mark.browser, pytest.mark.journey]

BUILT = ROOT / "api" / "static" / "ui"
PATHS = sorted(
    f"/ui/{path.relative_to(BUILT).as_posix().removesuffix('.html').removesuffix('index')}"
    for path in BUILT.rglob("*.html")
)
PARAMETERS = (
    "name",
    "model",
    "tenant",
    "id",
    "subject",
    "actor",
    "action",
    "worker",
    "status",
    "kind",
    "q",
    "next",
)
"""The parameters that pages read from their addresses, and some that a page could read."""

WITHOUT_TEXTS = (
    *("/ui/", "/ui/settings", "/ui/sign-in"),
    *("/ui/admin/queue", "/ui/admin/approvals", "/ui/admin/cache"),
)
"""Pages that show no text of this platform: it has no jobs, no proposals, no flushes. The chat has attacks of
its own (`chat/test_hostile_texts.py`)."""

MODELS = {
    "stub": {"backend": "stub", "enabled": True, "target_inflight": 1},
    "stoker-demo": {"enabled": False},
    **{
        f"broken{place}": {"backend": "stub", "stub_load_fail": " ".join(VECTORS[place::8])}
        for place in range(8)
    },
}

LOOK = """() => {
    const runs = ({ name, value }) =>
        /^on/i.test(name) || name === 'srcdoc' || /^\\s*(javascript:|data:text)/i.test(value);
    const made = /^(IFRAME|OBJECT|EMBED|BASE|MARQUEE|MATH|AUDIO|VIDEO|STYLE)$/i;
    return [...document.querySelectorAll('*')].flatMap((element) => [
        ...[...element.attributes].filter(runs).map((found) => `${found.name}=${found.value}`),
        ...(made.test(element.tagName) || element.matches('main img') ? [element.tagName] : []),
    ]);
}"""
"""What an attack would have made: handlers, addresses that run, elements that no page has."""


@dataclass
class Victim:
    """An administrator's browser, and whatever ran, or tried to run, in it."""

    page: Any
    url: str
    happened: list[str] = field(default_factory=list)

    def open(self, path: str) -> None:
        """Open a page, and wait until it has its content."""
        self.page.goto(self.url + path)
        self.page.wait_for_selector("h1")
        self.page.wait_for_load_state("load")

    def check(self) -> None:
        """Nothing ran, nothing tried to, and no vector became an element."""
        assert self.happened == []
        assert self.page.evaluate(LOOK) == []


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    """A platform whose errors, logs and audit are full of vectors."""
    folder = tmp_path_factory.mktemp("hostile")
    environment = {"CUDA_VISIBLE_DEVICES": ""}
    with running_platform(
        folder, {"models": MODELS}, "--port", "0", "--no-flower", environment=environment
    ) as platform:
        for name in MODELS:
            if name.startswith("broken"):
                platform.admin("POST", f"/v1/admin/models/{name}/load", {})
        for vector in VECTORS:
            platform.admin("DELETE", f"/v1/admin/keys/{quote(vector, safe='')}")
        for name in MODELS:
            if name.startswith("broken"):
                platform.wait_state(name, "failed")
        assert platform.respond("broken0", "Hi")[0] >= 400  # a request for the history
        kept = lambda: platform.admin("GET", "/v1/admin/requests")[1]["data"]  # noqa: E731
        platform.wait_for(kept, 10, "refused request in the history")
        yield platform


@pytest.fixture
def victim(chromium: Any, hostile: Platform) -> Iterator[Victim]:
    context = chromium.new_context()
    page = context.new_page()
    found = Victim(page, hostile.url)

    def dismiss(dialog: Any) -> None:
        found.happened.append(f"dialog {dialog.message}")
        dialog.dismiss()

    def note(line: Any) -> None:
        if "Security Policy" in line.text or "Trusted" in line.text:
            found.happened.append(line.text)

    def request(one: Any) -> None:
        if not one.url.startswith((hostile.url, "blob:")):
            found.happened.append(one.url)

    page.on("dialog", dismiss)
    page.on("console", note)
    page.on("pageerror", lambda error: found.happened.append(str(error)))
    page.on("popup", lambda popup: found.happened.append(popup.url))
    page.on("request", request)
    status, link = hostile.admin("POST", "/v1/session/links")
    assert status == 201
    page.goto(hostile.url + link["path"])
    page.wait_for_url(f"{hostile.url}/ui/")
    yield found
    context.unroute_all(behavior="wait")  # answers that are being changed
    context.close()


def test_a_vector_that_becomes_html_is_noticed(victim: Victim) -> None:
    page = victim.page
    page.evaluate("() => document.body.append(document.createElement('iframe'))")
    with page.expect_console_message(lambda line: "Security Policy" in line.text):
        page.evaluate(
            "() => { const link = document.createElement('a'); link.href = 'javascript:alert(1)';"
            " document.body.append(link); link.click(); }"
        )
    assert {"IFRAME", "href=javascript:alert(1)"} <= set(page.evaluate(LOOK))
    assert len(victim.happened) == 1  # the policy refused to run it


def test_errors_and_records_with_vectors_are_texts(victim: Victim) -> None:
    victim.open("/ui/admin/models")
    for place in range(8):
        row = victim.page.locator(f"tbody[data-row='broken{place}']")
        row.get_by_text(VECTORS[place]).first.wait_for()
    victim.check()
    for path in PATHS:
        victim.open(path)
        victim.check()
    victim.open("/ui/admin/audit")
    victim.page.get_by_text(VECTORS[-1]).first.wait_for()
    victim.check()


@pytest.mark.parametrize("path", PATHS)
def test_each_text_of_the_api_may_be_a_vector(victim: Victim, hostile: Platform, path: str) -> None:
    """Also names that the API refuses: a page does not rely on that."""
    answers = HostileAnswers(victim.page.context, hostile)
    # a source for the page that adds a model: it shows the answer of the API about it
    victim.open(f"{path}?source=no/such&name={quote(answers.poison.of('broken0'), safe='')}")
    if path not in WITHOUT_TEXTS:
        # the page of a model shows its name first, and then what the API has answered
        shown = victim.page.locator("main").get_by_text(MARK)
        shown.nth(3 if path == "/ui/admin/model" else 0).wait_for(state="attached")
    victim.page.wait_for_load_state("networkidle")
    victim.check()


@pytest.mark.parametrize("path", PATHS)
def test_parameters_with_vectors_run_nothing(victim: Victim, path: str) -> None:
    for begin in range(0, len(VECTORS), len(PARAMETERS)):
        pairs = zip(PARAMETERS, VECTORS[begin:] + VECTORS, strict=False)
        query = "&".join(f"{name}={quote(vector, safe='')}" for name, vector in pairs)
        victim.open(f"{path}?{query}#{quote(VECTORS[begin], safe='')}")
        victim.check()


def test_no_model_name_in_an_address_runs_anything(victim: Victim) -> None:
    for vector in VECTORS:
        victim.open(f"/ui/admin/model?name={quote(vector, safe='')}")
        victim.check()
