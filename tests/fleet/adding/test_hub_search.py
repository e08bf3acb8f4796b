"""Searches of a hub: bounded, and answers that are not trusted."""

from __future__ import annotations

from dataclasses import replace

import pytest

from config.settings import HubSettings
from fleet import hub_listing, hub_process
from fleet.adding.hub_search import search, search_hub
from fleet.errors import HubBusy, HubRefused, NotDownloaded
from fleet.fleet import Fleet
from fleet.hub_listing import HubFailed
from fleet.hub_process import MAX_AT_ONCE, hub_turn
from tests.support.hub_server import HubServer, Repository


def test_a_search_finds_the_repositories_with_its_words(fleet: Fleet, hub: HubServer) -> None:
    hub.repositories["acme/other"] = Repository({})
    found = search_hub(fleet.settings, "tiny gguf", 20)
    assert found == [
        {
            "repository": "acme/Tiny-GGUF",
            "downloads": 1000,
            "likes": 5,
            "updated_at": 1767323045.0,
            "gated": False,
            "library": "transformers",
        }
    ]
    assert (hub.searches[0]["sort"], hub.searches[0]["limit"]) == ("downloads", "20")


def test_fields_of_a_wrong_type_are_left_out(hub: HubServer) -> None:
    hub.changes = {
        "downloads": "many",
        "likes": -1,
        "gated": "manual",
        "library_name": "\x1b[2J",
        "lastModified": None,
    }
    hub.repositories["../../etc"] = Repository({})
    (found,) = search("", 20)
    assert found == {
        "repository": "acme/Tiny-GGUF",
        "downloads": None,
        "likes": None,
        "updated_at": None,
        "gated": True,
        "library": None,
    }


def test_no_more_models_are_taken_than_asked_for(hub: HubServer) -> None:
    for number in range(10):
        hub.repositories[f"acme/m{number}"] = Repository({})
    assert len(search("", 3)) == 3


@pytest.mark.parametrize("answer", [b"", b"null", b"{}", b"[" * 5000, b'[{"id": "a/b"}', b"\xff"])
def test_an_answer_that_is_no_list_of_models_is_refused(hub: HubServer, answer: bytes) -> None:
    hub.search_answer = answer
    with pytest.raises(HubFailed, match="not a list of models") as refused:
        search("", 5)
    assert refused.value.code == "hub_refused"


def test_items_that_are_no_models_are_left_out(hub: HubServer) -> None:
    hub.search_answer = b'[1, null, {}, {"id": 7}, {"id": "a/b", "lastModified": "yesterday"}]'
    assert [found["repository"] for found in search("", 5)] == ["a/b"]


def test_a_hub_that_refuses_or_fails_is_named_in_one_sentence(
    hub: HubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub_listing, "BACKOFF_S", 0.0)
    hub.statuses = [401]
    with pytest.raises(HubFailed, match="answered the search with 401"):
        search("", 5)
    hub.statuses = [500] * 60
    with pytest.raises(HubFailed) as failed:
        search("", 5)
    assert failed.value.code == "hub_unreachable"


@pytest.mark.usefixtures("hub")
def test_no_hub_is_asked_where_that_is_turned_off(fleet: Fleet) -> None:
    with pytest.raises(NotDownloaded):
        search_hub(replace(fleet.settings, hub=HubSettings(offline=True)), "x", 5)


@pytest.mark.usefixtures("hub")
def test_a_search_is_bounded_in_number_and_time(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    turns = [hub_turn() for _ in range(MAX_AT_ONCE)]
    for turn in turns:
        turn.__enter__()
    with pytest.raises(HubBusy):
        search_hub(fleet.settings, "x", 5)
    for turn in turns:
        turn.__exit__(None, None, None)
    monkeypatch.setattr(hub_process, "TIMEOUT_S", 0.1)
    with pytest.raises(HubRefused) as refused:
        search_hub(fleet.settings, "x", 5)
    assert refused.value.code == "hub_unreachable"
