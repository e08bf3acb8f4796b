"""20 cuts at random times in 20 answers: all are whole, none is there twice."""

from __future__ import annotations

import os
import random
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.platform import Platform
from tests.ui.browser.chat.chat_page import ChatPage
from tests.ui.browser.chat.conftest import Browser, run_chat_platform
from tests.ui.browser.chat.test_resumed_answers import response_of, text_of, words
from tests.ui.browser.cuttable_proxy import CuttableProxy

pytestmark = [pytest.mark.browser, pytest.mark.journey, pytest.mark.hostile]

ANSWERS = 20
CUTS = ("reload", "offline", "api", "worker")


@pytest.fixture(scope="module")
def own_platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    """A platform whose processes this test kills."""
    folder: Path = tmp_path_factory.mktemp("cuts")
    with run_chat_platform(folder) as platform:
        yield platform


class Cutter:
    """Cuts an answer in one of four ways."""

    def __init__(self, chat: ChatPage, platform: Platform, proxy: CuttableProxy) -> None:
        self._chat = chat
        self._platform = platform
        self._proxy = proxy

    def cut(self, how: str) -> None:
        getattr(self, f"_{how}")()

    def _reload(self) -> None:
        self._chat.reload()

    def _offline(self) -> None:
        self._proxy.cut()
        self._chat.pause(1_500)
        self._proxy.restore()

    def _api(self) -> None:
        for pid in self._platform.pids("stoker api"):
            os.kill(pid, signal.SIGKILL)

    def _worker(self) -> None:
        for worker in self._platform.workers_of("stub"):
            os.kill(self._platform.worker_pid(worker), signal.SIGKILL)


def test_no_answer_is_lost_or_doubled_by_20_cuts(browser: Browser, own_platform: Platform) -> None:
    seed = int(os.environ.get("CUTS_SEED", random.randrange(10_000)))
    chance = random.Random(seed)
    print(f"CUTS_SEED={seed}")
    with CuttableProxy(int(own_platform.url.rpartition(":")[2])) as proxy:
        chat = browser(platform=own_platform, url=f"http://127.0.0.1:{proxy.port}").open()
        cutter = Cutter(chat, own_platform, proxy)
        chat.choose("stub")
        statuses = []
        for place in range(ANSWERS):
            how = CUTS[place % len(CUTS)]
            chat.send(f"/stub tokens=60 tokens_per_s=25 echo answer {place} " + "word " * 50)
            chat.pause(chance.uniform(0, 2_000))
            cutter.cut(how)
            chat.wait_for("done", "failed", seconds=90)
            if chat.status() == "failed":  # its engine died with the worker: it is answered again
                assert how == "worker", (place, how)
                own_platform.wait_state("stub", "loaded", 60)
                chat.page.get_by_role("button", name="Try again").first.click()
                chat.wait_for("done", seconds=90)
            statuses.append(chat.status())
            assert words(chat.text()) == words(text_of(response_of(chat))), (place, how)
            assert chat.answers.count() == place + 1, (place, how)
        assert statuses == ["done"] * ANSWERS
        ids = chat.answers.evaluate_all("all => all.map((one) => one.dataset.message)")
        assert len(set(ids)) == ANSWERS
        chat.reload()
        assert chat.answers.count() == ANSWERS
        chat.expect_cuts()
        chat.page.goto("about:blank")
        chat.expect("about:blank")
