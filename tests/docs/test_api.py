"""docs/api.md matches the API: routes, body fields, examples."""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import replace
from urllib.parse import urlsplit

import pytest

from api.access.access_schema import KeyBody, KeyFields, TenantBody, TenantFields
from api.http.route_access import Access, access_of
from api.inference.audio.schema import SpeechRequest
from api.inference.chat.control_routes import ControlRequest
from api.inference.chat.schema import ChatRequest
from api.inference.comfyui.schema import WorkflowRequest
from api.inference.completions.schema import CompletionRequest
from api.inference.conversations.schema import NewConversation
from api.inference.embeddings.schema import EmbeddingsRequest
from api.inference.images.schema import ImageRequest
from api.inference.llama_server.completion_schema import InfillRequest, NativeCompletionRequest
from api.inference.llama_server.embedding_schema import EmbeddingRequest
from api.inference.llama_server.state_schema import StateBody
from api.inference.llama_server.text_schema import ApplyTemplateRequest, DetokenizeRequest, TokenizeRequest
from api.inference.messages.schema import CountTokensRequest, MessagesRequest
from api.inference.ollama.schema import (
    OllamaChatRequest,
    OllamaEmbeddingsRequest,
    OllamaEmbedRequest,
    OllamaGenerateRequest,
    OllamaShowRequest,
)
from api.inference.rerank.schema import RerankRequest
from api.inference.responses.schema import STATUSES, CompactRequest, ResponsesRequest
from api.inference.resumable.schema import StreamLookup
from api.operations.additions_schema import AdditionBody
from api.operations.alerts.schema import AcknowledgementBody
from api.operations.flush_schema import FlushBody
from api.operations.load_schema import LoadRequestBody
from api.tools.schema import ToolCall
from config.generated_keys import GeneratedKeys
from config.limits import limits_of
from config.settings import ROOT, ApiSettings, QueueSettings, Settings, Tenant
from tests.docs.page import blocks, code, read, rows, section
from tests.support.wsgi_answers import create_app

BODIES = {
    "/v1/responses": ResponsesRequest,
    "/v1/audio/speech": SpeechRequest,
    "/v1/images/generations": ImageRequest,
    "/v1/comfyui/prompts": WorkflowRequest,
    "/v1/responses/input_tokens": ResponsesRequest,
    "/v1/admin/models": AdditionBody,
    "/v1/admin/models/plan": AdditionBody,
    "/v1/streams/lookup": StreamLookup,
    "/slots/0": StateBody,
    "/tools": ToolCall,
    "/v1/tools": ToolCall,
    "/v1/conversations": NewConversation,
    "/v1/responses/compact": CompactRequest,
    "/v1/chat/completions": ChatRequest,
    "/v1/chat/completions/control": ControlRequest,
    "/v1/messages": MessagesRequest,
    "/v1/messages/count_tokens": CountTokensRequest,
    "/v1/completions": CompletionRequest,
    "/completion": NativeCompletionRequest,
    "/infill": InfillRequest,
    "/v1/embeddings": EmbeddingsRequest,
    "/v1/rerank": RerankRequest,
    "/embedding": EmbeddingRequest,
    "/tokenize": TokenizeRequest,
    "/detokenize": DetokenizeRequest,
    "/apply-template": ApplyTemplateRequest,
    "/api/chat": OllamaChatRequest,
    "/api/generate": OllamaGenerateRequest,
    "/api/embed": OllamaEmbedRequest,
    "/api/embeddings": OllamaEmbeddingsRequest,
    "/api/show": OllamaShowRequest,
    "/v1/admin/tenants": TenantBody,
    "/v1/admin/tenants/guest": TenantFields,
    "/v1/admin/tenants/default": TenantFields,
    "/v1/admin/alerts/$ALERT/acknowledge": AcknowledgementBody,
    "/v1/admin/cache/flush": FlushBody,
    "/v1/admin/cache/flush/plan": FlushBody,
    "/v1/admin/keys": KeyBody,
    "/v1/admin/keys/key_1": KeyFields,
    "/v1/admin/models/stub/load": LoadRequestBody,
    "/v1/admin/models/stoker-demo/load": LoadRequestBody,
    "/v1/admin/models/stoker-demo/load/plan": LoadRequestBody,
}
UNDOCUMENTED_ENDPOINTS = {"static", "api-docs.openapi_json", "docs"}


@pytest.fixture(scope="module")
def page():
    return read("api.md")


@pytest.fixture(scope="module")
def app(tmp_path_factory):
    return create_app(replace(Settings(), data_dir=tmp_path_factory.mktemp("data")))


def commands(page):
    """The curl calls of the page: method, path, body."""
    for block in blocks(page, "sh"):
        joined = re.sub(r"\\\n", " ", block)
        for call in re.findall(r"curl (.*?)(?=\n(?:\w+=\$\()?curl |\n\n|\n  \| |\)$|\Z)", joined, re.DOTALL):
            yield parsed(shlex.split(call.partition(" | python3")[0], comments=True))


def parsed(words):
    method, body, url = None, None, ""
    options = iter(words)
    for word in options:
        if word == "-X":
            method = next(options)
        elif word == "-d":
            body = json.loads(next(options))
        elif word == "-o":
            next(options)
        elif word == "-F":
            method = "POST"
            next(options)
        elif word == "-H":
            assert next(options).split()[0] in (
                "$AUTH",
                "$ADMIN",
                "$JSON",
                "Idempotency-Key:",
                "Prefer:",
                "X-Cache-Tag:",
                "X-Conversation-Id:",
                "TE:",
                "Connection:",
            )
        elif word.startswith("$URL"):
            url = (
                word.removeprefix("$URL")
                .replace("$ID", "resp_1")
                .replace("$OPERATION", "load_1")
                .replace("$KEY_ID", "key_1")
            )
        else:
            assert re.fullmatch(r"-[isSN]+", word), word
    return method or ("POST" if body is not None else "GET"), urlsplit(url).path, body


def test_every_route_is_listed_with_its_access_level(page, app):
    listed = {}
    for calls, access, _ in (row for row in rows(page) if len(row) == 3):
        for call in code(calls):
            if re.fullmatch(r"(GET|POST|PATCH|DELETE) /\S*", call):
                listed[call] = access
    routes = {}
    for rule in app.url_map.iter_rules():
        path = re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", rule.rule)
        access = access_of(app.view_functions[rule.endpoint])
        for method in rule.methods - {"HEAD", "OPTIONS"}:
            if rule.endpoint not in UNDOCUMENTED_ENDPOINTS or path in ("/docs", "/openapi.json"):
                routes[f"{method} {path}"] = (access or Access.PUBLIC).value
    assert listed == routes


def test_every_example_calls_a_route_with_a_valid_body(page, app):
    found = list(commands(page))
    assert len(found) >= 18
    urls = app.url_map.bind("localhost")
    for method, path, body in found:
        assert urls.match(path, method), (method, path)
        if body is not None:
            BODIES[path].check(body)


@pytest.mark.parametrize(
    ("title", "schema"),
    [
        ("Responses", ResponsesRequest),
        ("Chat Completions", ChatRequest),
        ("Messages", MessagesRequest),
        ("Ollama", OllamaChatRequest),
        ("Ollama", OllamaGenerateRequest),
    ],
)
def test_every_request_field_is_documented(page, title, schema):
    named = {word for row in rows(section(page, title)) for cell in row for word in code(cell)}
    named |= {word.partition(".")[0] for word in named}
    assert set(schema().fields) - {"text"} <= named


@pytest.mark.parametrize(
    ("title", "dialect"),
    [("Responses", "responses"), ("Chat Completions", "chat")],
)
def test_every_refused_field_is_documented_as_unsupported(page, title, dialect):
    source = (ROOT / "api" / "inference" / dialect / "dialect.py").read_text()
    refused = set(re.findall(r'reject_field\(body, "(\w+)"', source))
    assert refused
    documented = " ".join(
        " ".join(row) for row in rows(section(page, title)) if "`unsupported_parameter`" in row[-1]
    )
    assert refused <= set(code(documented))


def test_every_status_of_a_response_is_documented(page):
    explained = {row[0] for row in rows(section(page, "Responses"))}
    assert {f"`{status}`" for status in STATUSES} <= explained


def test_the_documented_events_are_those_that_are_sent(page):
    source = (ROOT / "api" / "inference" / "responses" / "dialect.py").read_text()
    sent = set(re.findall(r'"(response\.[a-z_.]+)"', source))
    ends = {"response.completed", "response.incomplete", "response.failed"}
    assert set(re.findall(r"response\.[a-z_]+[a-z_.]*[a-z]", section(page, "Events"))) == sent | ends


def test_response_headers_are_documented(page):
    documented = set(code(section(page, "Response headers")))
    folder = ROOT / "api"
    source = "".join(
        (folder / name).read_text()
        for name in ("inference/exchange.py", "request_hooks.py", "http/errors.py")
    )
    sent = set(re.findall(r'"((?:X-|x-|Retry-)[\w-]+)"', source)) | {"request-id"}
    assert {header for header in sent if not header.startswith("x-api")} <= {
        word.partition(":")[0] for word in documented
    }


def test_the_numbers_are_the_shipped_defaults(page):
    queue, api, page = QueueSettings(), ApiSettings(), re.sub(r"[ \n]+", " ", page)
    full = page.partition("### Queue limits")[2]
    assert f"`queue.max_depth`, {queue.max_depth} " in full
    assert "`queue.max_depth_per_tenant`, three quarters" in full
    assert limits_of(Tenant("any"), Settings()).max_waiting == queue.max_depth * 3 // 4
    assert f"`queue.timeout_ms`, {queue.timeout_ms // 60_000} minutes" in full
    assert f"`api.max_streams`, {api.max_streams:,} " in full
    assert f"after every {api.keep_alive_s:.0f} seconds" in page
    assert f"at most {api.max_body_bytes >> 20} MiB" in page


def test_the_first_example_reads_existing_fields_of_the_key_file(page):
    looked_for = set(re.findall(r'"(\w+_key)": ', blocks(page, "sh")[0]))
    assert looked_for == {"api_key", "admin_key"}
    assert looked_for <= set(GeneratedKeys.__dataclass_fields__)
