"""/api/...: Ollama's API."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Callable
from typing import Any

from flask import Flask, Response, request

from api.access.caller import current_caller
from api.http.answers import send_error, send_json
from api.http.detached import DetachedResponse
from api.http.error_codes import EMBEDDING, GENERATION, STORAGE
from api.http.errors import InvalidRequest
from api.http.http_responses import json_response
from api.http.ollama_errors import error_object
from api.http.openapi import RouteGroup
from api.http.route_access import Access, declare
from api.http.server.client_connection import ClientConnection
from api.inference.capabilities import (
    accepts_prompts,
    embeds,
    modalities,
    multi_turn,
    reranks,
    thinking_modes,
)
from api.inference.catalogue_follower import GAP_S, CatalogueFollower
from api.inference.dialects.base import Dialect
from api.inference.exchange import generate
from api.inference.generation_headers import ANSWER_HEADERS, GENERATION_HEADERS
from api.inference.ollama import chat as ollama_chat
from api.inference.ollama import embed as ollama_embed
from api.inference.ollama import embeddings as ollama_embeddings
from api.inference.ollama import generate as ollama_generate
from api.inference.ollama.dialect import check_load, created_at, has_prompt, model_name
from api.inference.ollama.schema import (
    OllamaAnswer,
    OllamaChatRequest,
    OllamaEmbeddingsRequest,
    OllamaEmbedRequest,
    OllamaError,
    OllamaGenerateRequest,
    OllamaModel,
    OllamaModels,
    OllamaShowRequest,
    OllamaVector,
    OllamaVectors,
    OllamaVersion,
)
from api.services import current_services, service
from backends.catalogue import BACKENDS
from config.settings import ModelDefinition, Settings
from fleet.fleet import Fleet
from fleet.model_row import ModelRow
from fleet.model_summary import ModelSummary
from fleet.states import ModelState
from store.errors import ModelFailed, ModelLoading, ModelNotLoaded, ModelUnloading, StokerError

VERSION = "0.14.0"
"""The version of Ollama whose API this is: clients compare it with the least one that they need."""

NEVER = "9999-12-31T23:59:59Z"
"""The time at which a model expires: an operator unloads it."""

ROOT = "root"
"""The endpoint of `/`."""

NOT_LOADED = {
    ModelState.UNLOADED: ModelNotLoaded,
    ModelState.LOADING: ModelLoading,
    ModelState.UNLOADING: ModelUnloading,
    ModelState.FAILED: ModelFailed,
}

routes = RouteGroup("ollama", __name__)


def register(app: Flask) -> None:
    """Add the root, which is no part of the OpenAPI document."""
    app.add_url_rule("/", ROOT, declare(show_running, Access.PUBLIC))


def show_running() -> Response:
    """Say that the server runs: Ollama's clients ask for it by HEAD before anything else.

    A browser, which accepts HTML, is led to the UI. The address is relative: a reverse proxy may have put a
    prefix before.
    """
    headers = {"Vary": "Accept"}
    if request.accept_mimetypes.best_match(("text/plain", "text/html")) == "text/html" and (
        service(Settings).ui.enabled
    ):
        return Response(status=302, headers={**headers, "Location": "ui/"})
    where = "docs describes its API" + (", ui/ has its pages" if service(Settings).ui.enabled else "")
    return Response(
        f"Stoker is running: {where}\n", content_type="text/plain; charset=utf-8", headers=headers
    )


@routes.endpoint(
    "/api/chat",
    "POST",
    access=Access.INFERENCE,
    body=OllamaChatRequest,
    examples={
        "A question": {
            "model": "stoker-demo",
            "messages": [{"role": "user", "content": "What is Stoker?"}],
            "stream": False,
        },
        "A stream": {"model": "stoker-demo", "messages": [{"role": "user", "content": "What is Stoker?"}]},
    },
    responses={200: OllamaAnswer},
    rows="application/x-ndjson",
    blocking=False,
    headers=ANSWER_HEADERS,
    errors=GENERATION,
    error_body=OllamaError,
)
def create_chat(body: dict[str, Any]) -> Response:
    """Answer a conversation, in Ollama's form

    Streams the answer as lines of JSON, unless `stream` is false; an error after the first line is a line
    with `error`. Without messages the answer is whether the model is loaded: `keep_alive` loads and unloads
    nothing.
    """
    message = {"message": {"role": "assistant", "content": ""}}
    return _generate_or_load(ollama_chat, body, lambda name: _loaded(name, message))


@routes.endpoint(
    "/api/generate",
    "POST",
    access=Access.INFERENCE,
    body=OllamaGenerateRequest,
    examples={"A prompt": {"model": "stoker-demo", "prompt": "What is Stoker?", "stream": False}},
    responses={200: OllamaAnswer},
    rows="application/x-ndjson",
    blocking=False,
    headers=ANSWER_HEADERS,
    errors=(*GENERATION, "prompt_unsupported"),
    error_body=OllamaError,
)
def create_text(body: dict[str, Any]) -> Response:
    """Answer a prompt, in Ollama's form

    As `/api/chat` with one user message. With `raw` or `suffix` the prompt is continued as it is.
    """
    return _generate_or_load(ollama_generate, body, lambda name: _loaded(name, {"response": ""}))


@routes.endpoint(
    "/api/embed",
    "POST",
    access=Access.INFERENCE,
    body=OllamaEmbedRequest,
    examples={"A text": {"model": "embedder", "input": "a red fox"}},
    responses={200: OllamaVectors},
    blocking=False,
    headers=GENERATION_HEADERS,
    errors=EMBEDDING,
    error_body=OllamaError,
)
def create_ollama_vectors(body: dict[str, Any]) -> Response:
    """Make vectors of texts, in Ollama's form

    A vector for each input, by a model that makes vectors. Without an input the answer is whether the model
    is loaded.
    """
    return _generate_or_load(ollama_embed, body, lambda name: {"model": name, "embeddings": []})


@routes.endpoint(
    "/api/embeddings",
    "POST",
    access=Access.INFERENCE,
    body=OllamaEmbeddingsRequest,
    examples={"A text": {"model": "embedder", "prompt": "a red fox"}},
    responses={200: OllamaVector},
    blocking=False,
    headers=GENERATION_HEADERS,
    errors=EMBEDDING,
    error_body=OllamaError,
)
def create_ollama_vector(body: dict[str, Any]) -> Response:
    """Make the vector of a text, in Ollama's older form

    As `/api/embed` with one text.
    """
    return _generate_or_load(ollama_embeddings, body, lambda _: {"embedding": []})


@routes.endpoint(
    "/api/tags",
    access=Access.INFERENCE,
    responses={200: OllamaModels},
    errors=STORAGE,
    error_body=OllamaError,
)
def list_tags() -> Response:
    """List the models, in Ollama's form

    All models that the key may use, loaded or not.
    """
    return json_response({"models": [_entry(model) for model in _visible()]})


@routes.endpoint(
    "/api/ps", access=Access.INFERENCE, responses={200: OllamaModels}, errors=STORAGE, error_body=OllamaError
)
def list_loaded() -> Response:
    """List the loaded models, in Ollama's form

    The models that the key may use and that are loaded.
    """
    loaded = [model for model in _visible() if model.state is ModelState.LOADED]
    more = {"expires_at": NEVER, "size_vram": 0}
    return json_response(
        {"models": [_entry(model) | more | {"context_length": model.context or 0} for model in loaded]}
    )


@routes.endpoint(
    "/api/show",
    "POST",
    access=Access.INFERENCE,
    body=OllamaShowRequest,
    examples={"A model": {"model": "stoker-demo"}},
    responses={200: OllamaModel},
    errors=("unknown_model", "model_not_allowed", *STORAGE),
    error_body=OllamaError,
)
def show_model(body: dict[str, Any]) -> Response:
    """Describe a model, in Ollama's form

    Its capabilities, and in `model_info` the context of a loaded model; of its files nothing is shown.
    """
    name = model_name(body.get("model") or body.get("name") or "")
    if not name:
        raise InvalidRequest("model is required", param="model")
    row = _row(name)
    return json_response(
        {
            "modelfile": "",
            "parameters": "",
            "template": "",
            "details": _details(row.definition),
            "model_info": _model_info(row),
            "capabilities": _capabilities(row.definition),
            "modified_at": created_at(row.loaded_at or 0),
        }
    )


@routes.endpoint(
    "/api/version", access=Access.INFERENCE, responses={200: OllamaVersion}, error_body=OllamaError
)
def ollama_version() -> Response:
    """The version of Ollama's API

    That of the Ollama whose API this platform follows, which some clients check.
    """
    return json_response({"version": VERSION})


def _generate_or_load(
    dialect: Dialect, body: dict[str, Any], loaded: Callable[[str], dict[str, Any]]
) -> Response:
    """Generate; without a prompt, answer whether the model is loaded. Does no I/O.

    `loaded` makes the answer for a loaded model of that name.
    """
    if has_prompt(dialect.NAME, body):
        return generate(dialect, body)
    check_load(body)
    name, services = model_name(body["model"]), current_services()
    current_caller().check_model(name)

    async def send_answer(connection: ClientConnection) -> None:
        try:
            model = await services[CatalogueFollower].definition(name)
            row = await asyncio.to_thread(services[Fleet].row_of, model)
            if (refused := NOT_LOADED.get(row.state)) is not None:
                raise refused(f"model {name} is {row.state}", param="model")
        except StokerError as error:
            send_error(connection, error, body=error_object)
            return
        send_json(connection, loaded(name))

    return DetachedResponse(send_answer)


def _loaded(name: str, empty: dict[str, Any]) -> dict[str, Any]:
    """The answer to a request without a prompt, with the fields of an empty one."""
    answer = {"model": name, "created_at": created_at(time.time()), **empty}
    return {**answer, "done": True, "done_reason": "load"}


def _visible() -> list[ModelSummary]:
    caller = current_caller()
    return [model for model in service(Fleet).summaries() if caller.may_use(model.name)]


def _row(name: str) -> ModelRow:
    current_caller().check_model(name)
    fleet = service(Fleet)
    return fleet.row_of(fleet.catalogue.definition(name, after_s=GAP_S))  # clients choose the names


def _entry(model: ModelSummary) -> dict[str, Any]:
    return {
        "name": model.name,
        "model": model.name,
        "modified_at": created_at(model.loaded_at or 0),
        "size": 0,
        "digest": hashlib.sha256(model.name.encode()).hexdigest(),
        "details": _details(model.definition),
    }


def _details(model: ModelDefinition) -> dict[str, Any]:
    return {
        "parent_model": "",
        "format": "",
        "family": model.backend,
        "families": [model.backend],
        "parameter_size": "",
        "quantization_level": "",
    }


def _model_info(row: ModelRow) -> dict[str, Any]:
    """What clients read to know how long a prompt may be: Ollama names the context by the architecture."""
    architecture = row.definition.backend
    info: dict[str, Any] = {"general.architecture": architecture, "general.basename": row.name}
    if row.state is ModelState.LOADED and row.context is not None:
        info[f"{architecture}.context_length"] = row.context
    return info


def _capabilities(model: ModelDefinition) -> list[str]:
    """Ollama's names of what the model can do."""
    if embeds(model):
        return ["embedding"]
    if reranks(model):
        return []
    named = {
        "vision": "image" in modalities(model),
        "tools": multi_turn(model),
        "insert": accepts_prompts(model) and "suffix" in BACKENDS[model.backend].sampling,
        "thinking": "enabled" in thinking_modes(model),
    }
    return ["completion", *(name for name, has in named.items() if has)]
