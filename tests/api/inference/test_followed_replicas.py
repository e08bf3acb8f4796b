"""The turns of a conversation go to one replica, however they name it: an API process over a real ledger.

Four replicas take turns for requests that none of them knows, so that a turn which is not known goes on.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import openai
import pytest
import redis

from governance.cache_namespaces import SECRET_BYTES
from scheduler.job import AppendRequest, Claim
from streams.events import ReasoningDelta, TextDelta
from tests.conftest import ValkeyServer
from tests.support.batch_lines import CHAT, chat_line, jsonl
from tests.support.pictures import data_url, png
from tests.support.resumed_streams import answering
from tests.support.served_api import Served, serving
from tests.support.waiting import wait_until

RESPONSES = "/v1/responses"
CONVERSATIONS, TURNS = 5, 4
MODEL = {
    "backend": "stub",
    "replicas": 4,
    "stub_image_input": True,
    "stub_lora": {"pirate": "/srv/pirate", "poet": "/srv/poet"},
}
MAX_BODY_BYTES = 40_000

Json = dict[str, Any]


@dataclass(frozen=True)
class Given:
    """A job as its worker gets it: its replica, and the keys of its prefixes, the shortest first."""

    replica: str
    keys: tuple[str, ...]


class Client:
    """Sends requests one after the other; `given` are their jobs."""

    def __init__(self, served: Served) -> None:
        self._served = served
        self.given: list[Given] = []
        served.handle = self._answer

    def _answer(self, claim: Claim) -> None:
        keys = self._served.platform.field(claim.id, "prefix_keys").split(" ")[:-1]
        hashes = tuple(f"{field} {tag}" for field, tag in zip(keys[::3], keys[1::3], strict=True))
        self.given.append(Given(claim.replica, hashes))
        text = f"Answer {len(self.given)}."
        events = (ReasoningDelta(f"I think of {text}").encode(), TextDelta(text).encode())
        request = AppendRequest(claim.id, claim.replica, claim.fence, 1, events)
        self._served.platform.step(claim, [request], [])
        self._served.platform.release(claim, finish_reason="stop")

    def call(self, path: str, body: object, **headers: str) -> Json:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        host = self._served.url.removeprefix("http://")
        with answering(host, "POST", path, body, named) as answer:
            found: Json = json.loads(answer.read())
            assert answer.status == 200, found
        return found

    def send(self, path: str, body: object, **headers: str) -> tuple[Json, Given]:
        """The answer to a request for text, and its job."""
        count = len(self.given)
        answer = self.call(path, body, **headers)
        assert len(self.given) == count + 1
        return answer, self.given[-1]


@pytest.fixture(scope="module")
def served(shared_server: ValkeyServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The secret of the namespaces is fixed: which keys fall in one place of the table differs with it."""
    folder: Path = tmp_path_factory.mktemp("api")
    with redis.Redis.from_url(shared_server.url) as client:
        client.set("{followed}:cache_secret", bytes(SECRET_BYTES))
    with serving(
        shared_server,
        folder,
        {},
        redis={"prefix": "followed"},
        slots=4,
        replicas=4,
        models={"alpha": MODEL},
        api={"max_body_bytes": MAX_BODY_BYTES},
    ) as served:
        yield served


@pytest.fixture
def client(served: Served) -> Client:
    return Client(served)


class Talk:
    """A conversation by the Responses API, whose turns continue it in different ways."""

    def __init__(self, client: Client, name: str) -> None:
        self._client = client
        self.name = name
        self.instructions = f"This is {name}. {'Be brief. ' * 40}"
        self.items: list[Json] = []
        self.previous: str | None = None
        self.conversation: str | None = None

    def turn(self, how: str) -> Given:
        new: Json = {"role": "user", "content": f"Turn {len(self.items)} of {self.name}? {'Well. ' * 40}"}
        body: Json = {"model": "alpha", "instructions": self.instructions}
        if how == "conversation":
            if self.conversation is None:
                self.conversation = self._client.call("/v1/conversations", {"items": self.items})["id"]
            body |= {"input": [new], "conversation": self.conversation}
        elif how == "previous" and self.previous is not None:
            body |= {"input": [new], "previous_response_id": self.previous}
        else:
            texts_only = how == "history of texts"
            sent = [item for item in self.items if not texts_only or item.get("type") != "reasoning"]
            body["input"] = [*sent, new]
        answer, given = self._client.send(RESPONSES, body)
        self.items += [new, *answer["output"]]
        self.previous = answer["id"]
        return given


WAYS = {
    "previous_response_id": ["previous"] * TURNS,
    "conversation": ["conversation"] * TURNS,
    "history": ["history"] * TURNS,
    "history without reasoning": ["history of texts"] * TURNS,
    "mixed": ["history", "previous", "history of texts", "previous"],
    "mixed with a conversation": ["history of texts", "previous", "conversation", "conversation"],
}


@pytest.mark.parametrize("way", WAYS)
def test_turns_follow_their_replica_however_they_continue(client: Client, way: str) -> None:
    talks = [Talk(client, f"{way} {number}") for number in range(CONVERSATIONS)]
    before = [talk.turn(WAYS[way][0]) for talk in talks]
    assert len({one.replica for one in before}) > 1
    for at, how in enumerate(WAYS[way][1:], 3):
        given = [talk.turn(how) for talk in talks]
        assert [one.replica for one in given] == [one.replica for one in before], how
        assert [one.keys[:-1] for one in given] == [one.keys for one in before], how
        assert [len(one.keys) for one in given] == [at] * CONVERSATIONS
        before = given


def test_a_turn_that_names_items_follows_them(client: Client) -> None:
    talks = [Talk(client, f"references {number}") for number in range(3)]
    for talk, before in zip(talks, [talk.turn("previous") for talk in talks], strict=True):
        references = [{"type": "item_reference", "id": item["id"]} for item in talk.items[1:]]
        body = {"model": "alpha", "instructions": talk.instructions}
        question = {"role": "user", "content": "And?"}
        _, after = client.send(RESPONSES, {**body, "input": [talk.items[0], *references, question]})
        assert after.replica == before.replica
        assert set(before.keys) < set(after.keys)


def test_requests_for_a_lora_follow_its_replica_and_share_no_key_with_others(client: Client) -> None:
    def ask(text: str, lora: str | None) -> Given:
        system = {"role": "system", "content": "Be brief, and kind. " * 40}
        body = {"model": "alpha", "messages": [system, {"role": "user", "content": text}]}
        return client.send(CHAT, {**body, "lora": lora} if lora else body)[1]

    names = ("pirate", "poet", None)
    first = {name: ask("Hi.", name) for name in names}
    assert len({one.replica for one in first.values()}) == 3, "an adapter is no reason to choose a replica"
    keys = [set(one.keys) for one in first.values()]
    assert not keys[0] & keys[1] | keys[0] & keys[2] | keys[1] & keys[2]
    for text in ("How are you?", "And now?"):
        for name in names:
            assert ask(text, name).replica == first[name].replica, "by the system prompt"


def test_images_are_known_by_their_bytes(client: Client) -> None:
    def ask(width: int, text: str) -> Given:
        image = {"type": "image_url", "image_url": {"url": data_url(png(width, 8))}}
        content = [image, {"type": "text", "text": "What is this?"}]
        messages = [
            {"role": "user", "content": content},
            {"role": "assistant", "content": "A square."},
            {"role": "user", "content": text},
        ]
        return client.send(CHAT, {"model": "alpha", "messages": messages})[1]

    one, other = ask(8, "Really?"), ask(9, "Really?")
    assert not set(one.keys) & set(other.keys)
    again = ask(8, "And its colour?")
    assert again.replica == one.replica
    assert again.keys[0] == one.keys[0]


def test_a_truncated_conversation_keeps_the_key_of_its_system_prompt(client: Client) -> None:
    previous, given = None, []
    for turn in range(4):
        body: Json = {"model": "alpha", "instructions": "Be very brief. " * 200, "truncation": "auto"}
        body["input"] = f"Turn {turn}: {'hm ' * 5_000}"
        if previous:
            body["previous_response_id"] = previous
        answer, one = client.send(RESPONSES, body)
        previous = answer["id"]
        given.append(one)
    assert len({one.keys[0] for one in given}) == 1
    assert given[1].keys[1] == given[0].keys[1]
    assert not set(given[3].keys[1:]) & set(given[2].keys), "its oldest turn was dropped"
    assert len({one.replica for one in given}) == 1


def test_a_compaction_runs_where_its_conversation_did_and_what_follows_keeps_its_begin(
    client: Client,
) -> None:
    talks = [Talk(client, f"compacted {number}") for number in range(3)]
    given = [[talk.turn("previous") for talk in talks] for _ in range(3)][-1]
    for talk, before in zip(talks, given, strict=True):
        system = {"instructions": talk.instructions}
        body = {"model": "alpha", "previous_response_id": talk.previous, **system}
        compacted, one = client.send(f"{RESPONSES}/compact", body)
        assert one.replica == before.replica
        assert set(before.keys) < set(one.keys)
        question = {"role": "user", "content": "Go on."}
        _, after = client.send(
            RESPONSES, {"model": "alpha", "input": [*compacted["output"], question], **system}
        )
        assert after.keys[0] == before.keys[0]
        assert after.replica == before.replica


def test_a_request_without_a_cache_reads_no_key_and_leaves_none(client: Client, served: Served) -> None:
    def table() -> dict[bytes, bytes]:
        name = f"{served.platform.prefix}prefixes:alpha"
        return served.platform.client.hgetall(name)  # type: ignore[return-value]

    body = {"model": "alpha", "input": "Alone? " * 200}
    _, known = client.send(RESPONSES, body)
    before = table()
    alone = [client.send(RESPONSES, body, X_Cache_Mode="none")[1] for _ in range(4)]
    assert [one.keys for one in alone] == [()] * 4
    assert len({one.replica for one in alone}) == 4, "they take turns"
    assert table() == before
    assert client.send(RESPONSES, body)[1] == known


def test_a_cache_tag_has_keys_of_its_own(client: Client) -> None:
    body = {"model": "alpha", "input": "Tagged? " * 200}
    tags = {tag: client.send(RESPONSES, body, X_Cache_Tag=tag)[1] for tag in ("one", "two")}
    assert not set(tags["one"].keys) & set(tags["two"].keys)
    assert all(client.send(RESPONSES, body, X_Cache_Tag=tag)[1] == one for tag, one in tags.items())


def test_the_lines_of_a_batch_have_the_keys_of_requests(client: Client, served: Served) -> None:
    system = {"role": "system", "content": "Be brief, and exact. " * 40}
    line = chat_line("one", "", "alpha", messages=[system, {"role": "user", "content": "Why?"}])
    _, direct = client.send(CHAT, line["body"])
    count = len(client.given)
    upload(served, jsonl(line))
    wait_until(lambda: len(client.given) > count, 30)
    assert client.given[count] == direct


def upload(served: Served, content: bytes) -> None:
    """Begin a batch of chat completions."""
    with openai.OpenAI(base_url=f"{served.url}/v1", api_key="none", max_retries=0) as sdk:
        file = sdk.files.create(file=("lines.jsonl", content), purpose="batch")
        sdk.batches.create(input_file_id=file.id, endpoint=CHAT, completion_window="24h")
