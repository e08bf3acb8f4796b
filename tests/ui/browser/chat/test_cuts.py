"""20 cuts at random times in 20 answers: all are whole, none is there twice."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest

from tests.support.platform import Platform
from tests.ui.browser.chat.chat_page import ChatPage
from tests.ui.browser.chat.conftest import Browser, run_chat_platform
from tests.ui.browser.cuttable_proxy import CuttableProxy

pytestmark = [pytest.mark.browser, pytest.mark.journey]

MODEL = "roomy"
CUTS = ["reload", "offline", "connection", "api"] * 4 + ["connection", "engine", "engine", "worker"]
TOKENS, TOKENS_PER_S = 40, 40
LOST_MS = 400
"""So long there is no connection."""


@pytest.fixture(scope="module")
def own_platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    """A platform whose processes this test kills."""
    with run_chat_platform(tmp_path_factory.mktemp("cuts")) as platform:
        yield platform


class Cutter:
    """Cuts an answer in one of six ways."""

    def __init__(self, chat: ChatPage, platform: Platform, proxy: CuttableProxy) -> None:
        self._chat = chat
        self._platform = platform
        self._proxy = proxy

    def cut(self, how: str) -> None:
        getattr(self, f"_{how}")()

    def _reload(self) -> None:
        """A page cannot be read while the API starts again."""
        self._platform.wait_for(lambda: is_up(self._platform), 30, "API")
        self._chat.reload()

    def _offline(self) -> None:
        self._chat.context.set_offline(True)
        self._connection()
        self._chat.context.set_offline(False)

    def _connection(self) -> None:
        self._proxy.cut()
        self._chat.pause(LOST_MS)
        self._proxy.restore()

    def _api(self) -> None:
        self._kill(lambda: self._platform.pids("stoker api"))

    def _worker(self) -> None:
        self._kill(self._worker_pids)

    def _worker_pids(self) -> list[int]:
        names = self._platform.workers_of(MODEL)
        return [pid for name in names for pid in self._platform.pids(f"stoker worker --name {name}")]

    def _engine(self) -> None:
        self._kill(lambda: self._platform.engine_pids(MODEL))

    def _kill(self, find: Callable[[], list[int]]) -> None:
        """Kill the processes; those of an earlier cut may be starting still."""
        for pid in self._platform.wait_for(find, 30, "process to kill"):
            with suppress(ProcessLookupError):  # the child that a worker has just forked ends with it
                os.kill(pid, signal.SIGKILL)


def is_up(platform: Platform) -> bool:
    """Whether the API answers."""
    with suppress(OSError):
        return platform.call("GET", "/live")[0] == 200
    return False


def requests_of(platform: Platform, model: str) -> int:
    """How many requests to a model have ended; 0 while the API cannot tell."""
    with suppress(OSError):
        status, usage = platform.admin("GET", f"/v1/admin/usage?model={model}")
        return sum(row["requests"] for row in usage["data"]) if status == 200 else 0
    return 0


@pytest.mark.timeout(240)  # 20 answers, and seven starts of processes
def test_no_answer_is_lost_or_doubled_by_20_cuts(browser: Browser, own_platform: Platform) -> None:
    seed = int(os.environ.get("CUTS_SEED", random.randrange(10_000)))
    chance = random.Random(seed)
    print(f"CUTS_SEED={seed}")
    with CuttableProxy(int(own_platform.url.rpartition(":")[2])) as proxy:
        chat = browser(platform=own_platform, url=f"http://127.0.0.1:{proxy.port}").open()
        # while a draft waits for a slow page, the model would count its tokens: a request like the others
        chat.page.route("**/v1/responses/input_tokens", lambda route: route.fulfill(json={"input_tokens": 1}))
        cutter = Cutter(chat, own_platform, proxy)
        chat.choose(MODEL)
        expected: list[str] = []
        retries = 0
        for place, how in enumerate(chance.sample(CUTS, len(CUTS))):
            begun = time.monotonic()
            words = [f"{place}.{number}" for number in range(TOKENS)]
            chat.send(f"/stub tokens_per_s={TOKENS_PER_S} echo {' '.join(words)}")
            chat.pause(chance.uniform(0, 800 * TOKENS / TOKENS_PER_S))
            cutter.cut(how)
            chat.wait_for("done", "failed", seconds=60)
            if chat.status() == "failed":  # the engine died after the first token
                assert how in ("worker", "engine"), (place, how)
                chat.page.get_by_role("button", name="Try again").click()
                retries += 1
                chat.wait_for("done", seconds=60)
            expected.append(" ".join(words))
            assert chat.text() == expected[-1], (place, how)
            print(f"{place:2} {how:10} {time.monotonic() - begun:4.1f} s")
        cutter.cut("reload")
        chat.answers.nth(len(CUTS) - 1).wait_for()
        for place, text in enumerate(expected):
            # messages far from the screen are made when they are near
            chat.answer(place).scroll_into_view_if_needed()
            chat.answer(place).get_by_text(text, exact=True).wait_for()
        assert chat.answers.count() == len(CUTS)
        ended = len(CUTS) + retries
        own_platform.wait_for(lambda: requests_of(own_platform, MODEL) >= ended, 30, f"{ended} requests")
        assert requests_of(own_platform, MODEL) == ended
        chat.expect_cuts()
        chat.page.goto("about:blank")
        chat.expect("about:blank")
