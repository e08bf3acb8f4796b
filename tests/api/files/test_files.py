"""/v1/files, with OpenAI's SDK and with forms that no SDK sends."""

from __future__ import annotations

from dataclasses import replace
from io import BytesIO
from typing import Any

import openai
import pytest
from flask.testing import FlaskClient

from api.http.open_streams import OpenStreams
from api.services import AppServices
from config.settings import Settings
from tests.api.conftest import OTHER_KEY

LINES = b'{"custom_id": "a"}\n' * 3


class Waiting:
    """A stream of another request."""

    def sweep(self, now: float) -> None:
        pass


def upload(http: FlaskClient, **form: Any) -> Any:
    """Send a form; `file` is (content, name)."""
    if isinstance(form.get("file"), tuple):
        form["file"] = (BytesIO(form["file"][0]), form["file"][1])
    return http.post("/v1/files", data=form, content_type="multipart/form-data")


def test_the_sdk_uploads_lists_reads_and_deletes_files(sdk: openai.OpenAI) -> None:
    first = sdk.files.create(file=("a.jsonl", LINES), purpose="batch")
    second = sdk.files.create(
        file=("b.txt", b"text"), purpose="user_data", expires_after={"anchor": "created_at", "seconds": 3600}
    )
    assert (first.bytes, first.filename, first.purpose, first.status) == (
        len(LINES),
        "a.jsonl",
        "batch",
        "processed",
    )
    assert first.expires_at == first.created_at + 30 * 86_400
    assert second.expires_at == second.created_at + 3600
    assert sdk.files.retrieve(first.id) == first
    assert sdk.files.content(first.id).content == LINES
    assert [file.id for file in sdk.files.list()] == [second.id, first.id]
    assert [file.id for file in sdk.files.list(order="asc", limit=1)] == [first.id, second.id]  # two pages
    assert [file.id for file in sdk.files.list(purpose="batch")] == [first.id]
    assert sdk.files.delete(first.id).deleted
    for call in (sdk.files.retrieve, sdk.files.content, sdk.files.delete):
        with pytest.raises(openai.NotFoundError):
            call(first.id)


def test_a_download_counts_as_a_stream_of_its_tenant(http: FlaskClient, services: AppServices) -> None:
    id = upload(http, purpose="batch", file=(LINES, "a")).json["id"]
    settings = services[Settings]
    services[Settings] = replace(settings, tenancy=replace(settings.tenancy, max_streams=1))
    path = f"/v1/files/{id}/content"
    assert http.get(path).data == LINES
    with services[OpenStreams].hold(Waiting(), "one"):
        answer = http.get(path)
        assert (answer.status_code, answer.json["error"]["code"]) == (429, "too_many_streams")
    assert http.get(path).data == LINES


def test_a_file_of_another_tenant_does_not_exist(http: FlaskClient) -> None:
    id = upload(http, purpose="batch", file=(b"x", "a")).json["id"]
    other = {"Authorization": f"Bearer {OTHER_KEY}"}
    for method, path in (("GET", ""), ("GET", "/content"), ("DELETE", "")):
        assert http.open(f"/v1/files/{id}{path}", method=method, headers=other).status_code == 404
    assert http.get("/v1/files", headers=other).json["data"] == []
    assert http.get(f"/v1/files/{id}").status_code == 200


@pytest.mark.parametrize(
    ("form", "param"),
    [
        ({"file": (b"x", "a")}, "purpose"),
        ({"purpose": "evals", "file": (b"x", "a")}, "purpose"),
        ({"purpose": "batch"}, "file"),
        ({"purpose": "batch", "file": "no file"}, "file"),
        ({"purpose": "batch", "file": (b"", "a")}, "file"),
        ({"purpose": "batch", "file": (b"x", "n" * 256)}, "file"),
        ({"purpose": "batch", "file": (b"x", "a\u2028b")}, "file"),
        (
            {"purpose": "batch", "file": (b"x", "a"), "expires_after[seconds]": "3600"},
            "expires_after[anchor]",
        ),
        (
            {"purpose": "batch", "file": (b"x", "a"), "expires_after[anchor]": "created_at"},
            "expires_after[seconds]",
        ),
        (
            {
                "purpose": "batch",
                "file": (b"x", "a"),
                "expires_after[anchor]": "created_at",
                "expires_after[seconds]": "3599",
            },
            "expires_after[seconds]",
        ),
        ({"purpose": ["batch", "batch"], "file": (b"x", "a")}, "purpose"),
        ({"purpose": "p" * 300_000, "file": (b"x", "a")}, None),
        ({"purpose": "batch", "file": (b"x", "a"), **{f"f{at}": "x" for at in range(70)}}, None),
    ],
)
def test_a_form_that_does_not_fit_is_refused(
    http: FlaskClient, form: dict[str, Any], param: str | None
) -> None:
    answer = upload(http, **form)
    assert (answer.status_code, answer.json["error"]["code"]) == (400, "invalid_request")
    assert answer.json["error"]["param"] == param
    assert http.get("/v1/files").json["data"] == []


@pytest.mark.parametrize("content", [b"x" * 900_000, b"\r\n--" * 200_000, b"\r\n" * 400_000, bytes(900_000)])
def test_a_large_file_is_stored_as_it_was_sent(http: FlaskClient, content: bytes) -> None:
    id = upload(http, purpose="user_data", file=(content, "a")).json["id"]
    assert http.get(f"/v1/files/{id}/content").data == content


def test_a_form_without_its_end_is_refused(http: FlaskClient) -> None:
    body = b'--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\nx'
    answer = http.post("/v1/files", data=body, content_type="multipart/form-data; boundary=b")
    assert (answer.status_code, answer.json["error"]["code"]) == (400, "invalid_request")
    for media_type in ("application/json", "multipart/form-data"):
        answer = http.post("/v1/files", data=body, content_type=media_type)
        assert (answer.status_code, answer.json["error"]["code"]) == (415, "unsupported_media_type")


@pytest.mark.parametrize("name", ["../../etc/passwd", "C:/temp/passwd"])
def test_the_name_of_a_file_is_kept_without_folders(http: FlaskClient, name: str) -> None:
    assert upload(http, purpose="batch", file=(b"x", name)).json["filename"] == "passwd"


@pytest.mark.parametrize("query", ["limit=0", "limit=x", "after=file-1", "order=up", "purpose=evals"])
def test_a_list_with_an_unknown_argument_is_refused(http: FlaskClient, query: str) -> None:
    answer = http.get(f"/v1/files?{query}")
    assert answer.status_code == 400
    assert answer.json["error"]["param"] == query.partition("=")[0]
