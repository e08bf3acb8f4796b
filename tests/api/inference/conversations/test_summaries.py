"""The summary of a compacted conversation is an item of another one."""

from __future__ import annotations

from flask import Flask
from flask.testing import FlaskClient

from api.inference.dialects.sealed_summaries import HEADING
from tests.api.conftest import OTHER_KEY
from tests.api.inference.responses.test_compaction import (
    CONVERSATION,
    SUMMARY,
    compact,
    generation_of,
    refusal,
)
from tests.support.api_fakes import Fakes


def test_summary_is_an_item_of_a_conversation(app: Flask, http: FlaskClient, fakes: Fakes) -> None:
    fakes.ledger.script = SUMMARY
    items = compact(http, input=CONVERSATION)["output"]
    created = http.post("/v1/conversations", json={"items": items}).json
    listed = http.get(f"/v1/conversations/{created['id']}/items?order=asc").json["data"]
    assert [item["type"] for item in listed] == [item["type"] for item in items]
    assert listed[-1]["encrypted_content"] == items[-1]["encrypted_content"]
    answer = http.post(
        "/v1/responses", json={"model": "demo", "input": "And Bern?", "conversation": created["id"]}
    )
    messages = generation_of(fakes, answer.json["id"]).messages
    assert messages[-2].text == f"{HEADING}\n\nThey talk of Oslo."
    other = app.test_client()
    other.environ_base["HTTP_X_API_KEY"] = OTHER_KEY
    assert refusal(other.post("/v1/conversations", json={"items": items})) == (
        *(400, "invalid_encrypted_content"),
        f"items[{len(items) - 1}].encrypted_content",
    )
