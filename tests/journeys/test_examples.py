"""Each operation of the OpenAPI document is sent to a running platform, with each example of its body."""

from __future__ import annotations

import json
import re
import secrets
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

import pytest

from config.settings import ROOT
from governance.op_tokens.signing import new_payload, signature_of
from tests.backends.comfyui.conftest import model_options
from tests.journeys.conftest import ON_THE_CPU
from tests.support.pictures import png
from tests.support.platform import Platform, running_platform
from tests.support.recordings import wav
from tests.support.signers import KeyHolder
from tests.support.waiting import scaled

pytestmark = [pytest.mark.journey, pytest.mark.slow]

DEMO = "stoker-demo"
ALICE = KeyHolder("alice")
SIGNED = {"mode": "signed", "threshold": 1}
QUESTION = [{"role": "user", "content": "What is Stoker?"}]
LINE = {
    "custom_id": "1",
    "method": "POST",
    "url": "/v1/chat/completions",
    "body": {"model": DEMO, "max_tokens": 4, "messages": QUESTION},
}
FILES = {
    "/v1/files": ("file", "input.jsonl", json.dumps(LINE).encode()),
    "/v1/audio/transcriptions": ("file", "speech.wav", wav()),
    "/v1/audio/translations": ("file", "speech.wav", wav()),
    "/v1/images/edits": ("image", "fox.png", png(64, 64)),
}
"""The file of each form: its field, its name and its content."""

ENDLESS = ("/models/sse", "/v1/admin/events")
"""Streams that only the client ends: the head of the answer is read."""

OTHER_ANSWERS = {
    "POST /props": (501, "the route refuses by its definition"),
    "POST /lora-adapters": (501, "the route refuses by its definition"),
    "GET /cors-proxy": (403, "the route refuses by its definition"),
    "POST /cors-proxy": (403, "the route refuses by its definition"),
    "POST /infill": (501, "the demo model has no tokens for a gap"),
    "POST /models": (400, "the platform of a test reaches no hub"),
    "POST /v1/admin/alerts/{name}/acknowledge": (409, "no alert fires within minutes of a start"),
    "POST /v1/admin/webhooks/{name}/test": (404, "the platform of a test has no webhook target"),
    "POST /v1/session/oidc": (404, "the platform of a test has no provider"),
    "GET /v1/admin/hub/models": (404, "the platform of a test reaches no hub"),
    "GET /v1/admin/hub/files": (404, "the platform of a test reaches no hub"),
}
"""The status of each operation that this platform answers with an error, and why; all others succeed."""

OPERATIONS = {
    "/v1/models/load": "model-load",
    "/v1/models/unload": "model-unload",
    "/v1/cache/flush": "cache-flush",
}


class Caller:
    """Sends requests with a key of all scopes, and prepares what an example refers to."""

    def __init__(self, platform: Platform) -> None:
        self.platform = platform

    def send(self, method: str, path: str, body: object = None, **headers: str) -> tuple[int, bytes]:
        """The status and the body of an answer; of an endless one, the first line."""
        form = FILES.get(path) if method == "POST" else None
        if form is not None:
            data, kind = multipart(dict(body or {}), form)  # type: ignore[call-overload]
        else:
            data, kind = None if body is None else json.dumps(body).encode(), "application/json"
        request = urllib.request.Request(
            self.platform.url + path,
            method=method,
            data=data,
            headers={
                "Authorization": f"Bearer {self.platform.keys['admin_key']}",
                "Content-Type": kind,
                "Sec-Fetch-Site": "same-origin",  # as "Try it out" of the page sends them
                "X-Stoker-UI": "1",
                **headers,
            },
        )
        try:
            with urllib.request.urlopen(request, timeout=scaled(60)) as answer:
                endless = urlsplit(path).path in ENDLESS
                return answer.status, answer.readline() if endless else answer.read()
        except urllib.error.HTTPError as error:
            return error.code, error.read()

    def made(self, path: str, body: object = None, **headers: str) -> dict[str, Any]:
        """The object that a POST has made."""
        status, answer = self.send("POST", path, body, **headers)
        assert status < 300, (path, answer)
        return dict(json.loads(answer))

    # ---- what examples refer to

    def response(self) -> dict[str, str]:
        return {
            "id": self.made("/v1/responses", {"model": DEMO, "input": "Hi", "max_output_tokens": 4})["id"]
        }

    def ended_request(self) -> dict[str, str]:
        made = self.response()
        path = f"/v1/admin/requests/{made['id']}"
        self.platform.wait_for(lambda: self.send("GET", path)[0] == 200, 10, "request in the history")
        return made

    def running_response(self) -> dict[str, str]:
        body = {"model": "slow", "input": "/stub tokens=2000", "background": True}
        return {"id": self.made("/v1/responses", body)["id"]}

    def conversation(self) -> dict[str, str]:
        items = [{"type": "message", "role": "user", "content": "Hi"}]
        id = self.made("/v1/conversations", {"items": items})["id"]
        _, listed = self.send("GET", f"/v1/conversations/{id}/items")
        return {"conversation_id": id, "item_id": json.loads(listed)["data"][0]["id"]}

    def stream(self) -> dict[str, str]:
        id = f"chat-{secrets.token_hex(4)}"
        body = {"model": DEMO, "messages": QUESTION, "max_tokens": 4, "stream": True}
        status, _ = self.send("POST", "/v1/chat/completions", body, **{"X-Conversation-Id": id})
        assert status == 200
        return {"conv_id": id}

    def workflow(self) -> dict[str, str]:
        return {"id": self.made("/v1/comfyui/prompts", self.example("/v1/comfyui/prompts"))["id"]}

    def media(self) -> dict[str, str]:
        body = {"model": "painter", "prompt": "a fox", "size": "64x64", "response_format": "url"}
        url = urlsplit(self.made("/v1/images/generations", body)["data"][0]["url"])
        id, name = url.path.split("/")[-2:]
        return {"id": id, "name": name, **dict(parse_qsl(url.query))}

    def file(self) -> dict[str, str]:
        return {"file_id": self.made("/v1/files", {"purpose": "batch"})["id"]}

    def batch(self) -> dict[str, str]:
        body = self.example("/v1/batches") | {"input_file_id": self.file()["file_id"]}
        return {"batch_id": self.made("/v1/batches", body)["id"]}

    def message_batch(self) -> dict[str, str]:
        return {"batch_id": self.made("/v1/messages/batches", self.example("/v1/messages/batches"))["id"]}

    def ended_message_batch(self) -> dict[str, str]:
        made = self.message_batch()
        path = f"/v1/messages/batches/{made['batch_id']}"
        ended = lambda: json.loads(self.send("GET", path)[1])["processing_status"] == "ended"  # noqa: E731
        self.platform.wait_for(ended, 60, "end of the batch")
        return made

    def load_again(self) -> None:
        settled = ("loaded", "unloaded")
        self.platform.wait_for(lambda: self.platform.model(DEMO)["runtime_state"] in settled, 60, "its end")
        self.platform.run_operation("load", DEMO)

    def unloaded_model(self) -> dict[str, str]:
        self.platform.run_operation("unload", DEMO)
        return {}

    def added_model(self) -> dict[str, str]:
        name = f"added-{secrets.token_hex(4)}"
        self.made("/v1/admin/models", {"source": "models/stoker-demo.gguf", "name": name})
        return {"name": name, "model": name}

    def running_operation(self) -> dict[str, str]:
        row = self.made("/v1/admin/models/later/load", {})
        return {"id": row["operation"]["id"]}

    def operation(self, kind: str) -> dict[str, str]:
        _, listed = self.send("GET", f"/v1/admin/operations?kind={kind}")
        return {"id": json.loads(listed)["data"][0]["id"]}

    def worker(self) -> dict[str, str]:
        return {"name": json.loads(self.send("GET", "/v1/admin/workers")[1])["data"][0]["name"]}

    def tenant(self) -> dict[str, str]:
        name = f"tenant-{secrets.token_hex(4)}"
        self.made("/v1/admin/tenants", {"name": name})
        return {"name": name}

    def key(self) -> dict[str, str]:
        return {"id": self.made("/v1/admin/keys", {"tenant": "default"})["id"]}

    def session(self) -> dict[str, str]:
        self.made("/v1/session", {"key": self.platform.keys["admin_key"]})
        return {"id": json.loads(self.send("GET", "/v1/account/sessions")[1])["data"][0]["id"]}

    def proposal(self) -> dict[str, str]:
        return {"id": self.made("/v1/governance/proposals", self.example("/v1/governance/proposals"))["id"]}

    # ---- the document

    def example(self, path: str) -> dict[str, Any]:
        """The first example of a POST, with what it refers to."""
        _, _, operation = next(one for one in self.operations() if one[:2] == ("POST", path))
        return self.filled(path, {}, next(iter(bodies_of(operation).values())))

    def filled(self, path: str, prepared: Mapping[str, str], body: dict[str, Any]) -> dict[str, Any]:
        """An example with what no document can have: a file's id, a key, a signature."""
        if "input_file_id" in body:
            return body | {"input_file_id": self.file()["file_id"]}
        if path == "/v1/session":
            link = self.made("/v1/session/links")["token"] if "link" in body else None
            return {"link": link} if link else body | {"key": self.platform.keys["api_key"]}
        if "signature" in body:
            _, proposal = self.send("GET", f"/v1/governance/proposals/{prepared['id']}")
            return body | ALICE.body(json.loads(proposal))
        if "verifiedOpToken" in body:
            rest = {name: value for name, value in body.items() if name != "verifiedOpToken"}
            payload = new_payload(OPERATIONS[path], rest, int(time.time()), signers=(), runner_id=None)
            signatures = [signature_of(payload, ALICE.name, ALICE.key)]
            return rest | {"verifiedOpToken": {"opToken": payload, "signatures": signatures}}
        return body

    def operations(self) -> Iterator[tuple[str, str, dict[str, Any]]]:
        """Method, path and description of each operation."""
        for path, item in self.document["paths"].items():
            for method, operation in item.items():
                if method != "parameters":
                    known = [*item.get("parameters", ()), *operation.get("parameters", ())]
                    yield method.upper(), path, {**operation, "parameters": known}

    @property
    def document(self) -> dict[str, Any]:
        if not hasattr(self, "_document"):
            self._document: dict[str, Any] = self.platform.call("GET", "/openapi.json")[1]
        return self._document


Prepare = Callable[[Caller], dict[str, str]]

PREPARED: tuple[tuple[str, Prepare], ...] = (
    (r"POST /v1/admin/webhooks/{name}/test", lambda _: {"name": "ops"}),
    (r"POST /v1/responses/{id}/\w+", Caller.running_response),
    (r"DELETE /v1/admin/queue/{id}", Caller.running_response),
    (r"GET /v1/admin/requests/{id}(/texts)?", Caller.ended_request),
    (r"\w+ /v1/admin/alerts/{name}/.*", lambda _: {"name": "StokerModelFailed"}),
    (r"\w+ /v1/(responses|queue|admin/jobs|governance/receipts)/{id}.*", Caller.response),
    (r"\w+ /v1/conversations/{conversation_id}.*", Caller.conversation),
    (r"\w+ /v1/stream(/{conv_id})?", Caller.stream),
    (r"\w+ /v1/comfyui/prompts/{id}", Caller.workflow),
    (r"GET /v1/media/.*", Caller.media),
    (r"\w+ /v1/files/{file_id}.*", Caller.file),
    (r"\w+ /v1/batches/{batch_id}.*", Caller.batch),
    (r"(DELETE|GET) /v1/messages/batches/{batch_id}.*", Caller.ended_message_batch),
    (r"POST /v1/messages/batches/{batch_id}.*", Caller.message_batch),
    (r"DELETE (/v1/admin/models/{name}|/models)", Caller.added_model),
    (r"DELETE /v1/admin/operations/{id}", Caller.running_operation),
    (r"GET /v1/(models/load|admin/operations)/{id}", partial(Caller.operation, kind="load")),
    (r"GET /v1/models/unload/{id}", partial(Caller.operation, kind="unload")),
    (r"GET /v1/cache/flush/{id}", partial(Caller.operation, kind="flush")),
    (r"POST (/models|/v1/admin/models/{name})/load", Caller.unloaded_model),
    (r"\w+ /v1/admin/workers/{name}.*", Caller.worker),
    (r"\w+ /v1/admin/tenants/{name}.*", Caller.tenant),
    (r"\w+ /v1/admin/keys/{id}", Caller.key),
    (r"DELETE /v1/(account|admin)/sessions/{id}", Caller.session),
    (r"\w+ /v1/governance/proposals/{id}.*", Caller.proposal),
)
"""What an operation refers to, by its method and path; the first one that fits."""


def multipart(fields: dict[str, Any], file: tuple[str, str, bytes]) -> tuple[bytes, str]:
    """A form with these fields and a file, and its content type."""
    field, name, content = file
    parts = [
        f'--b\r\nContent-Disposition: form-data; name="{key}"\r\n\r\n{value}\r\n'
        for key, value in fields.items()
    ]
    parts.append(f'--b\r\nContent-Disposition: form-data; name="{field}"; filename="{name}"\r\n\r\n')
    return "".join(parts).encode() + content + b"\r\n--b--\r\n", "multipart/form-data; boundary=b"


def bodies_of(operation: dict[str, Any]) -> dict[str, Any]:
    """The examples of an operation's body, by their titles."""
    (content,) = operation.get("requestBody", {}).get("content", {}).values() or [{}]
    return {title: one["value"] for title, one in content.get("examples", {}).items()}


def address_of(path: str, operation: dict[str, Any], prepared: Mapping[str, str]) -> str:
    """The path and the query: what is prepared, and the examples of other parameters that are required."""
    query = {}
    for parameter in operation["parameters"]:
        name, where = parameter["name"], parameter["in"]
        value = prepared.get(name, parameter.get("example"))
        if value is None and parameter.get("required"):
            value = parameter["schema"].get("enum", [None])[0]
        if where == "path":
            assert value is not None, f"test_examples.PREPARED has nothing for {name} of {path}"
            path = path.replace(f"{{{name}}}", quote(value))
        elif where == "query" and value is not None:
            query[name] = value
    return f"{path}?{urlencode(query)}" if query else path


@pytest.fixture(scope="module")
def caller(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Caller]:
    folder = tmp_path_factory.mktemp("examples")
    (key,) = ALICE.configured().public_keys
    models: dict[str, Any] = {
        "embedder": {"backend": "stub", "enabled": True, "stub_dimensions": 8},
        "reranker": {"backend": "stub", "enabled": True, "stub_rerank": True},
        "whisper": {"backend": "stub", "enabled": True, "stub_media": "transcript"},
        "voices": {"backend": "stub", "enabled": True, "stub_media": "speech"},
        "slow": {"backend": "stub", "enabled": True, "stub_tokens_per_s": 20, "target_inflight": 1},
        "painter": {"backend": "comfyui", "enabled": True, **model_options(folder)},
    }
    local = {
        "models": {**models, "later": {"backend": "stub", "stub_load_s": 60}},
        "tenants": {
            "default": {},
            "admin": {"comfyui_workflows": True, "receipts": True, "keep_texts": True},
        },
        "tools": {"enabled": ["all"]},
        "hub": {"offline": True},
        "model_base_path": str(ROOT),
        "state": {"directory": str(folder / "states")},
        "governance": {
            "signers": {"alice": {"public_keys": [{"id": key.id, "key": key.key}]}},
            **dict.fromkeys(("model-load", "model-unload", "cache-flush", "access-change"), SIGNED),
        },
    }
    options = ("--port", "0", "--no-flower")
    with running_platform(folder / "up", local, *options, environment=ON_THE_CPU) as platform:
        for name in (DEMO, *models):
            platform.wait_state(name, "loaded", 60)
        caller = Caller(platform)
        yield caller
        caller.send("DELETE", "/v1/admin/queue?tenant=admin&running=true")  # else their end is waited for


def test_every_example_is_answered(caller: Caller) -> None:
    failed = []
    for method, path, operation in caller.operations():
        called = f"{method} {path}"
        prepare = next((make for known, make in PREPARED if re.fullmatch(known, called)), lambda _: {})
        for title, body in (bodies_of(operation) or {"": None}).items():
            prepared = prepare(caller)
            sent = caller.filled(path, prepared, body) if body else body
            status, answer = caller.send(method, address_of(path, operation, prepared), sent)
            expected, _ = OTHER_ANSWERS.get(called, (status if status < 300 else 200, ""))
            if status != expected:
                failed.append(f"{called} ({title}): {status} {answer[:300]!r}")
        if re.search("/(un)?load$", called):
            caller.load_again()  # the next operations need the model
    assert not failed, "\n".join(failed)


def test_each_expected_refusal_is_that_of_an_operation(caller: Caller) -> None:
    known = {f"{method} {path}" for method, path, _ in caller.operations()}
    assert set(OTHER_ANSWERS) <= known
    assert [pattern for pattern, _ in PREPARED if not any(re.fullmatch(pattern, one) for one in known)] == []
