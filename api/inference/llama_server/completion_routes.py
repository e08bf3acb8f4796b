"""POST /completion and POST /infill, as llama-server has them."""

from __future__ import annotations

from functools import partial
from typing import Any

from flask import Response

from api.http.error_codes import GENERATION
from api.http.openapi import RouteGroup
from api.http.route_access import Access
from api.inference.exchange import generate
from api.inference.generation_headers import ANSWER_HEADERS
from api.inference.llama_server import completion, infill
from api.inference.llama_server.completion_schema import (
    InfillRequest,
    NativeCompletion,
    NativeCompletionRequest,
)
from api.inference.llama_server.lora_scales import with_lora_name
from api.inference.llama_server.model_name import with_model
from api.inference.resumable.schema import LlamaServerError

routes = RouteGroup("llama_server", __name__)


route = partial(
    routes.endpoint,
    method="POST",
    access=Access.INFERENCE,
    responses={200: NativeCompletion},
    streams=True,
    blocking=False,
    headers=ANSWER_HEADERS,
    errors=(*GENERATION, "prompt_unsupported", "not_supported"),
    error_body=LlamaServerError,
)


@route(
    "/completion",
    body=NativeCompletionRequest,
    examples={"A text": {"model": "stoker-demo", "prompt": "Stoker is", "n_predict": 16}},
)
def create_native_completion(body: dict[str, Any]) -> Response:
    """Continue a text, as llama-server

    Also at `/completions`. What the model's engine cannot do is answered with 501. Errors have llama-server's
    form, also in a stream: `data: {"error": {...}}`.
    """
    return generate(completion, with_lora_name(with_model(body)))


@route(
    "/infill",
    body=InfillRequest,
    examples={
        "A function": {
            "model": "stoker-demo",
            "input_prefix": "def add(a, b):\n    return ",
            "input_suffix": "\n",
            "n_predict": 16,
        }
    },
)
def create_infill(body: dict[str, Any]) -> Response:
    """Fill a gap in a text, as llama-server

    For models with fill-in-the-middle tokens; 501 for others. The plugins of editors use it (llama.vim,
    llama.vscode).
    """
    return generate(infill, with_lora_name(with_model(body)))
