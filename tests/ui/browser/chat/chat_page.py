"""The chat in a browser, as a person uses it: by the names that a screen reader says."""

from __future__ import annotations

import re
from typing import Any

from tests.support.waiting import wait_until
from tests.ui.browser.conftest import is_problem, wait_in_page

SIGN_IN = """async ([key]) => {
    const body = JSON.stringify({ key });
    const headers = { 'Content-Type': 'application/json', 'X-Stoker-UI': '1' };
    return (await fetch('../v1/session', { method: 'POST', body, headers })).status;
}"""

CALL = """async ([method, path]) => {
    const answer = await fetch(`..${path}`, { method, headers: { 'X-Stoker-UI': '1' } });
    return [answer.status, await answer.json()];
}"""

LAST_ANSWER_HAS = """statuses => statuses.includes(
    [...document.querySelectorAll('main article[data-status]')].at(-1)?.dataset.status
)"""

RESPONSE_ID = """id => new Promise((done, fail) => {
    const opening = indexedDB.open('stoker-chat');
    opening.onerror = fail;
    opening.onsuccess = () => {
        const read = opening.result.transaction('messages').objectStore('messages').get(id);
        read.onsuccess = () => { opening.result.close(); done(read.result.responseId); };
    };
})"""
"""The id of an answer's response, as the browser has stored it."""

IS_NEW = """() => !new URLSearchParams(location.search).has('c')
    && document.querySelector('main article') === null && document.querySelector('textarea') !== null"""
"""The page shows a conversation without messages: what is typed from then on belongs to it."""

TEXT = ":is([data-answer-text], article[data-status] > div[dir=auto])"
"""The text of an answer."""

FINAL = ("done", "stopped", "cut", "failed", "lost")
NETWORK = re.compile(r"ERR_(CONNECTION|INCOMPLETE_CHUNKED|EMPTY_RESPONSE|NETWORK|INTERNET|SOCKET|ABORTED)")
"""The errors that Chromium writes into the console when a connection is cut."""


class ChatPage:
    """One tab of a browser with the chat. `problems` are what should not happen, in all its tabs."""

    def __init__(self, context: Any, url: str, problems: list[str] | None = None) -> None:
        self.context = context
        self.url = url
        self.problems: list[str] = [] if problems is None else problems
        self.page = context.new_page()
        self.page.on("console", self._note_line)
        self.page.on("pageerror", lambda error: self.problems.append(f"uncaught: {error}"))
        self.page.on("request", self._note_request)

    def another_tab(self) -> ChatPage:
        """A further tab of the same browser, with a fresh conversation."""
        return ChatPage(self.context, self.url, self.problems).open()

    def sign_in(self, key: str) -> None:
        """Begin a session of the key."""
        self.page.goto(f"{self.url}/ui/sign-in")
        assert self.page.evaluate(SIGN_IN, [key]) == 201

    def open(self, query: str = "") -> ChatPage:
        """Open the chat: a fresh conversation, or `?c=...`."""
        self.page.goto(f"{self.url}/ui/{query}")
        self.composer.wait_for()
        return self

    def reload(self) -> None:
        """Load the page again, as it is."""
        self.page.reload()
        self.composer.wait_for()

    def begin_new(self) -> None:
        """Show a fresh conversation; a text that is typed before it is shown would belong to the last one."""
        self.page.get_by_role("link", name="New chat").first.click()
        wait_in_page(self.page, IS_NEW)

    def expect(self, *patterns: str) -> None:
        """Forget problems that a test provokes: those in which one of the patterns is found."""
        self.problems[:] = [
            problem
            for problem in self.problems
            if not any(re.search(pattern, problem) for pattern in patterns)
        ]

    def expect_cuts(self) -> None:
        """Forget what a cut connection writes into the console."""
        self.expect(NETWORK.pattern, "Failed to load resource")

    # ---- the composer

    @property
    def composer(self) -> Any:
        return self.page.get_by_role("textbox", name="Your message")

    def choose(self, model: str) -> None:
        """Choose the model of the conversation in the picker."""
        self.open_picker()
        self.page.get_by_role("combobox", name="Find a model").fill(model)
        self.page.get_by_role("option", name=re.compile(rf"^{re.escape(model)}\b")).first.click()

    def open_picker(self) -> None:
        """Open the list of models."""
        self.page.get_by_role("group", name="Model", exact=True).get_by_role("button").first.click()

    def send(self, text: str, model: str | None = None) -> Any:
        """Send a message; returns its answer, the last one of the page."""
        if model is not None:
            self.choose(model)
        count = self.answers.count()
        self.composer.fill(text)
        self.page.get_by_role("button", name="Send", exact=True).click()
        wait_until(lambda: self.answers.count() > count or self.pause(), 20, lambda: "no new answer")
        return self.answer()

    def ask(self, text: str, model: str | None = None, status: str = "done") -> str:
        """Send a message and wait for the end of its answer; returns the answer's text."""
        self.send(text, model)
        self.wait_for(status)
        return self.text()

    def stop(self) -> None:
        """Stop the answer."""
        self.page.get_by_role("button", name="Stop", exact=True).click()

    # ---- the thread

    @property
    def answers(self) -> Any:
        """The answers of the branch that is shown."""
        return self.page.locator("main article[data-status]")

    @property
    def questions(self) -> Any:
        """The messages of the person."""
        return self.page.locator("main article[data-message]:not([data-status])")

    def answer(self, place: int = -1) -> Any:
        """An answer by its place."""
        return self.answers.last if place == -1 else self.answers.nth(place)

    def status(self, place: int = -1) -> str:
        """The status of an answer (`AnswerStatus` of chat_types.ts)."""
        found: str = self.answer(place).get_attribute("data-status")
        return found

    def wait_for(self, *statuses: str, seconds: float = 30) -> None:
        """Wait until the last answer has one of these statuses."""
        wait_in_page(self.page, LAST_ANSWER_HAS, list(statuses), seconds)

    def text(self, place: int = -1) -> str:
        """The text of an answer, without its name, facts and actions."""
        found: list[str] = self.answer(place).evaluate(
            "(answer, text) => [...answer.querySelectorAll(text)].map((one) => one.innerText)", TEXT
        )
        return "\n".join(found).strip()

    def id(self, place: int = -1) -> str:
        """The id of an answer: of its message, its stream and its request."""
        found: str = self.answer(place).get_attribute("data-message")
        return found

    def act(self, name: str, message: Any = None) -> None:
        """Use an action of a message, by its name; of the last answer without one."""
        target = self.answer() if message is None else message
        target.hover()
        target.get_by_role("button", name=name, exact=True).first.click()

    def answer_again(self) -> None:
        """Ask for another version of the last answer; it has begun when this returns."""
        before = self.id()
        self.act("Answer again")
        wait_until(lambda: self.id() != before or self.pause(), 20, lambda: "no new version")

    # ---- the platform

    def call(self, method: str, path: str) -> tuple[int, Any]:
        """Ask the API with the session of this browser."""
        status, body = self.page.evaluate(CALL, [method, path])
        return status, body

    def response(self) -> dict[str, Any]:
        """What the API has of the last answer."""
        id = self.page.evaluate(RESPONSE_ID, self.id())
        status, response = self.call("GET", f"/v1/responses/{id}")
        assert status == 200, response
        return dict(response)

    def sent_text(self) -> str:
        """The text of the last answer, as the API has it."""
        messages = [item for item in self.response()["output"] if item["type"] == "message"]
        return "".join(part["text"] for message in messages for part in message["content"])

    def pause(self, ms: float = 20) -> None:
        """Let the page work."""
        self.page.wait_for_timeout(ms)

    # ---- tripwires

    def _note_line(self, line: Any) -> None:
        if is_problem(line):
            self.problems.append(f"{line.text} ({line.location['url']})")

    def _note_request(self, request: Any) -> None:
        if not request.url.startswith((self.url, "blob:", "data:")):
            self.problems.append(f"request: {request.url}")
