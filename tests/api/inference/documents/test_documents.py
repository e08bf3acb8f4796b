"""Documents in requests: PDF files and texts, sent as they are or stored before, in each dialect."""

from __future__ import annotations

from base64 import b64encode
from io import BytesIO
from typing import Any

import anthropic
import openai
import pytest
from flask.testing import FlaskClient

from api.inference import document_reader
from api.inference.dialects.attachments import MAX_DOCUMENTS
from generation.generation import Generation, Message, TextPart
from streams.events import End
from tests.api.conftest import KEY, OTHER_KEY
from tests.support import pdf_files
from tests.support.api_fakes import Fakes
from tests.support.pdf_files import data_url_of, pdf

pytestmark = pytest.mark.slow

Json = dict[str, Any]
REPORT = pdf("Sales rose.", "Costs fell.")
TEXT = "Sales rose.\n\nCosts fell."


def responses(part: Json) -> Json:
    return {"model": "demo", "input": [{"role": "user", "content": [{"type": "input_file", **part}]}]}


def chat(part: Json) -> Json:
    content = [{"type": "text", "text": "Sum up:"}, {"type": "file", "file": part}]
    return {"model": "demo", "messages": [{"role": "user", "content": content}]}


def messages(*blocks: Json) -> Json:
    return {"model": "demo", "max_tokens": 9, "messages": [{"role": "user", "content": [*blocks]}]}


def document(data: bytes, media_type: str = "application/pdf", **fields: str) -> Json:
    source = {"type": "base64", "media_type": media_type, "data": b64encode(data).decode()}
    return {"type": "document", "source": source, **fields}


def asked(fakes: Fakes) -> tuple[Message, ...]:
    return Generation.from_json(fakes.ledger.only().generation).messages


def stored(http: FlaskClient, data: bytes, name: str) -> str:
    form = {"file": (BytesIO(data), name), "purpose": "user_data"}
    answer = http.post("/v1/files", data=form, content_type="multipart/form-data")
    assert answer.status_code == 200
    return str(answer.json["id"])


def refusal(http: FlaskClient, path: str, body: Json) -> tuple[int, str, str]:
    answer = http.post(f"/v1/{path}", json=body)
    return answer.status_code, answer.json["error"]["code"], answer.json["error"]["param"]


def test_pdf_file_becomes_text_when_a_response_gets_it(http: FlaskClient, fakes: Fakes) -> None:
    part = {"filename": "report.pdf", "file_data": data_url_of(REPORT)}
    assert http.post("/v1/responses", json=responses(part)).status_code == 200
    assert asked(fakes) == (Message("user", (TextPart(f"report.pdf\n{TEXT}"),)),)


def test_pdf_file_becomes_text_when_chat_gets_it(http: FlaskClient, fakes: Fakes) -> None:
    body = chat({"file_data": b64encode(REPORT).decode()})
    small = {"model": "demo", "messages": [{"role": "user", "content": "Sum up:"}]}
    assert http.post("/v1/chat/completions", json=body).status_code == 200
    assert asked(fakes) == (Message("user", (TextPart("Sum up:"), TextPart(TEXT))),)
    (job,) = fakes.ledger.jobs.values()
    fakes.ledger.jobs.clear()
    http.post("/v1/chat/completions", json=small)
    assert job.cost > fakes.ledger.only().cost


def test_pdf_files_become_text_when_messages_get_them(http: FlaskClient, fakes: Fakes) -> None:
    result = {"type": "tool_result", "tool_use_id": "c", "content": [document(pdf("In a result."))]}
    body = messages(document(REPORT, title="T", context="C"), result)
    assert http.post("/v1/messages", json=body).status_code == 200
    assert asked(fakes) == (
        Message("tool", (TextPart("In a result."),), tool_call_id="c"),
        Message("user", (TextPart(f"T\nC\n{TEXT}"),)),
    )


@pytest.mark.parametrize(
    ("media_type", "name"),
    [
        ("text/plain", ""),
        ("text/markdown", ""),
        ("text/csv", "a.csv"),
        ("application/json", "a.json"),
        ("", "b.md"),
    ],
)
def test_text_is_taken_as_it_is(http: FlaskClient, fakes: Fakes, media_type: str, name: str) -> None:
    encoded = b64encode("a;ö".encode()).decode()
    data = f"data:{media_type};base64,{encoded}" if media_type else encoded
    part = {"filename": name, "file_data": data}
    assert http.post("/v1/responses", json=responses(part)).status_code == 200
    assert asked(fakes)[0].text == (f"{name}\na;ö" if name else "a;ö")


def test_stored_file_is_read_when_its_id_is_sent(http: FlaskClient, fakes: Fakes) -> None:
    report, note = stored(http, REPORT, "report.pdf"), stored(http, b"A note.", "note.txt")
    content = [{"type": "input_file", "file_id": id} for id in (report, note)]
    body = {"model": "demo", "input": [{"role": "user", "content": content}]}
    assert http.post("/v1/responses", json=body).status_code == 200
    assert asked(fakes)[0].content == (TextPart(TEXT), TextPart("A note."))
    fakes.ledger.jobs.clear()
    block = {"type": "document", "source": {"type": "file", "file_id": report}}
    assert http.post("/v1/messages", json=messages(block)).status_code == 200
    assert asked(fakes)[0].text == TEXT


def test_stored_texts_of_a_request_are_refused_when_they_are_larger_than_a_body(
    http: FlaskClient, fakes: Fakes
) -> None:
    note = stored(http, b"x" * 400_000, "note.txt")
    part = {"type": "input_file", "file_id": note}
    body = {"model": "demo", "input": [{"role": "user", "content": [part] * 3}]}
    param = "input[0].content[2].file_id"
    assert refusal(http, "responses", body) == (400, "document_too_large", param)
    assert not fakes.ledger.jobs
    body["input"] = [{"role": "user", "content": [part] * 2}]
    assert http.post("/v1/responses", json=body).status_code == 200


def test_stored_file_of_another_tenant_is_not_found(http: FlaskClient, fakes: Fakes) -> None:
    id = stored(http, REPORT, "report.pdf")
    http.environ_base["HTTP_AUTHORIZATION"] = f"Bearer {OTHER_KEY}"
    param = "input[0].content[0].file_id"
    assert refusal(http, "responses", responses({"file_id": id})) == (404, "not_found", param)
    assert not fakes.ledger.jobs


@pytest.mark.parametrize(
    ("part", "code", "field"),
    [
        ({"file_url": "https://x/a.pdf"}, "unsupported_input", "file_url"),
        ({}, "invalid_request", "file_data"),
        ({"file_data": "%"}, "invalid_request", "file_data"),
        ({"file_data": "AAAA", "file_id": "file-1"}, "invalid_request", "file_data"),
        ({"file_data": data_url_of(b"PK", "application/zip")}, "unsupported_input", "file_data"),
        ({"filename": "a.docx", "file_data": "AAAA"}, "unsupported_input", "file_data"),
        ({"filename": "a.txt", "file_data": "/////w=="}, "document_unreadable", "file_data"),
        ({"filename": "a.pdf", "file_data": "AAAA"}, "document_unreadable", "file_data"),
        ({"file_data": data_url_of(pdf_files.encrypted())}, "document_unreadable", "file_data"),
    ],
)
def test_file_is_refused_with_its_path_when_it_cannot_be_read(
    http: FlaskClient, fakes: Fakes, part: Json, code: str, field: str
) -> None:
    param = f"input[0].content[0].{field}"
    assert refusal(http, "responses", responses(part)) == (400, code, param)
    assert not fakes.ledger.jobs


def test_refusal_has_anthropics_form_when_messages_get_the_file(http: FlaskClient) -> None:
    answer = http.post("/v1/messages", json=messages(document(pdf_files.encrypted())))
    assert (answer.status_code, answer.json["type"]) == (400, "error")
    error = answer.json["error"]
    assert (error["type"], error["code"]) == ("invalid_request_error", "document_unreadable")
    assert error["param"] == "messages[0].content[0].source.data"


@pytest.mark.parametrize("role", ["system", "assistant"])
def test_file_is_refused_outside_of_user_messages(http: FlaskClient, role: str) -> None:
    content = [{"type": "file", "file": {"file_data": data_url_of(REPORT)}}]
    body = {"model": "demo", "messages": [{"role": role, "content": content}]}
    assert refusal(http, "chat/completions", body) == (400, "unsupported_input", "messages[0].content[0]")


def test_number_of_files_is_bounded(http: FlaskClient) -> None:
    part = {"type": "input_file", "filename": "a.txt", "file_data": "AAAA"}
    body = {"model": "demo", "input": [{"role": "user", "content": [part] * (MAX_DOCUMENTS + 1)}]}
    param = f"input[0].content[{MAX_DOCUMENTS}].file_data"
    assert refusal(http, "responses", body) == (400, "unsupported_input", param)


def test_refusal_names_the_command_when_pypdf_is_missing(
    http: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(document_reader, "is_installed", lambda: False)
    answer = http.post("/v1/messages", json=messages(document(REPORT)))
    assert answer.json["error"]["code"] == "unsupported_input"
    assert "pip install 'stoker[documents]'" in answer.json["error"]["message"]


def test_tokens_of_documents_are_counted(http: FlaskClient, fakes: Fakes) -> None:
    fakes.ledger.script = [End("completed", "stop")]
    body = messages(document(REPORT))
    assert http.post("/v1/messages/count_tokens", json=body).status_code == 200
    assert Generation.from_json(fakes.ledger.only().generation).count_only
    assert asked(fakes)[0].text == TEXT


def test_background_response_waits_for_its_documents(http: FlaskClient, fakes: Fakes) -> None:
    body = responses({"file_data": data_url_of(REPORT)}) | {"background": True}
    fakes.ledger.script = None
    assert http.post("/v1/responses", json=body).json["status"] == "queued"
    assert asked(fakes)[0].text == TEXT


def test_repeat_under_one_idempotency_key_reads_no_document_again(http: FlaskClient, fakes: Fakes) -> None:
    id = stored(http, REPORT, "report.pdf")
    headers = {"Idempotency-Key": "k"}
    first = http.post("/v1/responses", json=responses({"file_id": id}), headers=headers).json
    assert http.delete(f"/v1/files/{id}").status_code == 200
    assert http.post("/v1/responses", json=responses({"file_id": id}), headers=headers).json == first
    assert len(fakes.ledger.jobs) == 1


def test_sdks_send_documents(sdk: openai.OpenAI, port: int, fakes: Fakes) -> None:
    part: Any = {"type": "input_file", "filename": "r.pdf", "file_data": data_url_of(REPORT)}
    answer = sdk.responses.create(model="demo", input=[{"role": "user", "content": [part]}])
    assert answer.output_text == "Hello."
    with anthropic.Anthropic(base_url=f"http://127.0.0.1:{port}", api_key=KEY, max_retries=0) as claude:
        message = claude.messages.create(**messages(document(REPORT)))
    assert message.content[0].text == "Hello."
    part["file_data"] = data_url_of(pdf_files.encrypted())
    with pytest.raises(openai.BadRequestError, match="encrypted") as caught:
        sdk.responses.create(model="demo", input=[{"role": "user", "content": [part]}], stream=True)
    assert caught.value.code == "document_unreadable"
    assert len(fakes.ledger.jobs) == 2
