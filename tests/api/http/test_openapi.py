"""The OpenAPI document and its page."""

from __future__ import annotations

import gzip
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any
from unittest.mock import patch
from urllib.parse import urljoin

import pytest
from apispec import APISpec
from flask import Flask

from api.app import DOCUMENTATION_ENDPOINTS
from api.http.error_codes import GENERATION
from api.http.errors import CODES
from api.inference.ollama import routes as ollama
from api.operations import ui_routes as ui
from config.settings import Settings, UiSettings
from tests.support.wsgi_answers import create_app


@pytest.fixture
def document(app: Flask) -> dict[str, Any]:
    document: dict[str, Any] = app.test_client().get("/openapi.json").json
    return document


def operations(document: dict[str, Any]) -> list[tuple[str, str, dict[str, Any]]]:
    return [
        (path, method, item[method])
        for path, item in document["paths"].items()
        for method in item
        if method in ("get", "post", "patch", "delete")
    ]


def test_the_document_is_openapi_3_1_with_fields_in_declared_order(document: dict[str, Any]) -> None:
    assert document["openapi"] == "3.1.0"
    assert next(iter(document["components"]["schemas"]["ResponseObject"]["properties"])) == "id"


def test_the_document_is_whole_when_many_read_it_for_the_first_time(new_app: Flask) -> None:
    with ThreadPoolExecutor(8) as pool:
        read = [pool.submit(lambda: new_app.test_client().get("/openapi.json").text) for _ in range(8)]
    (document,) = {future.result() for future in read}
    assert '"/v1/governance/receipts/{id}"' in document  # a route of the last group


@pytest.mark.rule("docs/documentation-2")
def test_the_document_is_made_once_and_sent_compressed_or_not_at_all(new_app: Flask) -> None:
    client = new_app.test_client()
    plain, packed = (client.get("/openapi.json", headers={"Accept-Encoding": it}) for it in ("", "br, gzip"))
    assert packed.headers["Content-Encoding"] == "gzip"
    assert gzip.decompress(packed.data) == plain.data
    assert plain.headers["Vary"] == "Accept-Encoding"
    with patch.object(APISpec, "to_dict", side_effect=AssertionError("it is made again")):
        assert client.get("/openapi.json").data == plain.data
        for answer, coding in ((plain, ""), (packed, "gzip")):
            asked = {"If-None-Match": answer.headers["ETag"], "Accept-Encoding": coding}
            again = client.get("/openapi.json", headers=asked)
            assert (again.status_code, again.data) == (304, b"")


PUBLIC = (
    "/health",
    "/v1/health",
    "/ready",
    "/live",
    "/v1/session",
    "/v1/session/oidc",
    "/v1/media/{id}/{name}",
)


def test_every_operation_has_summary_description_and_errors(document: dict[str, Any]) -> None:
    for path, method, operation in operations(document):
        assert operation["summary"], (path, method)
        assert operation["description"], (path, method)
        assert "500" in operation["responses"], (path, method)
        if path not in PUBLIC:
            assert {"401", "403", "400"} <= set(operation["responses"]), (path, method)
        for name in re.findall(r"{(\w+)}", path):
            known = document["paths"][path].get("parameters", []) + operation.get("parameters", [])
            assert any(item["name"] == name and item.get("description") for item in known), path


def test_every_operation_has_an_id_of_its_own(document: dict[str, Any]) -> None:
    ids = [operation["operationId"] for _, _, operation in operations(document)]
    assert len(set(ids)) == len(ids)


def test_every_operation_with_a_body_has_an_example(document: dict[str, Any]) -> None:
    without = [
        f"{method.upper()} {path}"
        for path, method, operation in operations(document)
        for content in operation.get("requestBody", {}).get("content", {}).values()
        if not content["examples"]
    ]
    assert not without, (
        f'no example: {", ".join(without)}. Add `examples={{"A title": {{...}}}}` to the route\'s `endpoint`;'
        " tests/journeys/test_examples.py sends it (a path's ids come from its PREPARED)."
    )


def test_every_route_is_documented(app: Flask, document: dict[str, Any]) -> None:
    routes = {
        re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", rule.rule)
        for rule in app.url_map.iter_rules()
        if rule.endpoint not in (*DOCUMENTATION_ENDPOINTS, *ui.ENDPOINTS, ollama.ROOT)
    }
    assert set(document["paths"]) == routes


@pytest.mark.rule("docs/documentation-3")
def test_all_errors_of_a_generation_are_documented(document: dict[str, Any]) -> None:
    answers = document["paths"]["/v1/responses"]["post"]["responses"]
    assert {str(CODES[code].status) for code in GENERATION} <= set(answers)
    assert "`queue_full`" in answers["503"]["description"]
    assert answers["503"]["headers"]["Retry-After"]
    assert set(answers["200"]["content"]) == {"application/json", "text/event-stream"}


def test_unions_are_documented_with_a_single_null(document: dict[str, Any]) -> None:
    schemas = document["components"]["schemas"]
    given = schemas["ResponsesRequest"]["properties"]["input"]["anyOf"]
    assert [item["type"] for item in given] == ["string", "array", "null"]
    message, call, *_ = [option["allOf"] for option in given[1]["items"]["anyOf"]]
    assert message == [
        {"$ref": "#/components/schemas/InputMessage"},
        {"properties": {"type": {"enum": ["message"]}}},
    ]
    assert call[1] == {"properties": {"type": {"enum": ["function_call"]}}, "required": ["type"]}
    assert "null" not in str(given[1]["items"])
    assert schemas["ResponsesRequest"]["required"] == ["model"]
    assert schemas["ResponsesRequest"]["properties"]["truncation"]["enum"][-1] is None
    assert "enum" in schemas["InputMessage"]["properties"]["role"]


def test_the_page_works_without_the_internet(app: Flask) -> None:
    client = app.test_client()
    page = client.get("/docs").text
    assert "://" not in page
    files = re.findall(r'(?:src|href)="([^":]+)"', page)
    assert len(files) == 6
    assert not any(file.startswith("/") for file in files), "a proxy may have put a prefix before"
    assert client.get("/openapi.json").json["servers"] == [{"url": "."}]
    for file in (*files, *re.findall(r'data-[\w-]+="([^"]+)"', page)):
        assert client.get(urljoin("/docs", file)).status_code == 200, file
    assert client.get("/static/swagger-ui/LICENSE").status_code == 200
    assert client.get("/static/docs/page.html").status_code == 404  # it has one address


def test_the_page_is_sent_compressed_and_is_small(app: Flask) -> None:
    client = app.test_client()
    files = re.findall(r'(?:src|href)="(static/[^"]+)"', client.get("/docs").text)
    answers = [client.get(f"/{file}", headers={"Accept-Encoding": "gzip"}) for file in files]
    assert all(answer.headers["Content-Encoding"] == "gzip" for answer in answers)
    assert sum(len(answer.data) for answer in answers) <= 500 * 1024


def test_the_page_leads_to_a_sign_in_only_where_there_is_one(settings: Settings, app: Flask) -> None:
    without_ui = create_app(replace(settings, ui=UiSettings(enabled=False)))
    for shown, page in ((True, app), (False, without_ui)):
        assert ("ui/sign-in" in page.test_client().get("/docs").text) is shown


def test_operations_are_in_few_sections_each_with_a_sentence(document: dict[str, Any]) -> None:
    sections = [tag["name"] for tag in document["tags"]]
    assert len(sections) == len(set(sections)) <= 16
    assert all(tag["description"].endswith(".") for tag in document["tags"])
    used = [tag for _, _, operation in operations(document) for tag in operation["tags"]]
    assert len(used) == len(operations(document))  # one section each
    assert set(used) == set(sections)
