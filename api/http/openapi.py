"""flask-smorest, adapted: one decorator declares a whole route, and all errors have one envelope.

The document is OpenAPI 3.1. `api.http.request_body` reads and validates request bodies instead of webargs;
flask-smorest only documents them.
"""

from __future__ import annotations

import functools
import http
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import flask_smorest  # type: ignore[import-untyped]
import marshmallow
from flask import Flask, Response, request
from werkzeug.exceptions import HTTPException, MethodNotAllowed

from api.http.anthropic_errors import VERSION_HEADER
from api.http.blocking import declare_not_blocking
from api.http.error_rendering import http_error_body
from api.http.error_schema import ErrorBody
from api.http.errors import CODES, ApiError, InvalidRequest
from api.http.http_responses import json_response, unexpected_error_response
from api.http.prepared_answer import PreparedAnswer
from api.http.rejection_counts import REJECTIONS
from api.http.request_body import read_body
from api.http.route_access import Access, declare
from api.http.stoker_flask import current_request
from api.http.strict_fields import EnumField, OneOfSchemasField, TaggedUnionField, UnionField
from api.http.strict_schema import StrictSchema

ViewFunction = Callable[..., Response]

ResponseSchema = type[marshmallow.Schema] | marshmallow.Schema | tuple[type[marshmallow.Schema], ...] | None
"""The schema of an answer's body, or those of which it has one; None without a body."""

_HTTP_CODES = {
    404: "not_found",
    405: "method_not_allowed",
    413: "request_too_large",
    415: "unsupported_media_type",
}
_HTTP_MESSAGES = {
    404: "there is no such path",
    405: "this path does not support this method",
    413: "the body is too large",
}

DESCRIPTION = """\
Language models on your own GPUs, as OpenAI's Responses API and Chat Completions.

Every error is `{"error": {"message", "type", "param", "code"}}`; `code` is stable. Every response has its id
in `x-request-id`. `x-should-retry: false` means that the same request will fail again; `Retry-After` is the
time in seconds after which it may succeed.

Streams are server-sent events that end with `data: [DONE]`, except those in Anthropic's form. Lines that
begin with `:` only keep the connection alive.
"""


class Api(flask_smorest.Api):  # type: ignore[misc]  # flask-smorest has no types
    """The OpenAPI document and the error handlers.

    The routes are described when the document is read for the first time: that takes longer than all else in
    the start of an app, and most processes never do it.
    """

    DEFAULT_ERROR_RESPONSE_NAME = None
    ERROR_SCHEMA = ErrorBody

    def __init__(self, app: Flask) -> None:
        self._descriptions: list[Callable[[], None]] = []
        self._describing = threading.Lock()
        self._document: PreparedAnswer | None = None
        super().__init__(app)
        converter = self.ma_plugin.converter
        converter.add_attribute_function(_document_field)
        converter.schema2jsonschema = functools.partial(_document_schema, converter.schema2jsonschema)
        bearer = {
            "type": "http",
            "scheme": "bearer",
            "description": "An API key; `x-api-key` is accepted too.",
        }
        self.spec.components.security_scheme("key", bearer)
        app.register_error_handler(Exception, unexpected_error_response)

    def _register_responses(self) -> None:
        """Register no answers: each route declares its own, and those of flask-smorest take time."""

    def register_section(self, title: str, about: str, groups: Sequence[RouteGroup]) -> None:
        """Add the routes of these groups to the app, below this title in the document."""
        self.spec.tag({"name": title, "description": about})
        for group in groups:
            group.section = title
            self._app.register_blueprint(group)
            group.register_views_in_doc(self, self._app, self.spec, name=group.name, parameters=None)

    def describe_later(self, description: Callable[[], None]) -> None:
        """Call this before the document is read."""
        self._descriptions.append(description)

    def _openapi_json(self) -> Response:
        with self._describing:
            if self._document is None:
                while self._descriptions:
                    self._descriptions.pop(0)()
                made: Response = super()._openapi_json()
                self._document = PreparedAnswer(made.get_data(), "application/json")
        return self._document.answer({"Vary": "Accept-Encoding", "Cache-Control": "no-cache"})

    def handle_http_exception(self, error: HTTPException) -> Any:
        """Return an error of Flask or werkzeug in the API's envelope, without their text."""
        if error.code is None or error.code < 400:
            return error  # a redirect
        code = _HTTP_CODES.get(error.code, "internal_error" if error.code >= 500 else "invalid_request")
        message = _HTTP_MESSAGES.get(error.code, http.HTTPStatus(error.code).phrase.lower())
        headers = {"x-should-retry": "false"}
        if isinstance(error, MethodNotAllowed) and error.valid_methods:
            headers["Allow"] = ", ".join(error.valid_methods)
        REJECTIONS.add(code)
        to_anthropic = VERSION_HEADER in request.headers
        body = http_error_body(error.code, code, message, request.path, to_anthropic=to_anthropic)
        return json_response(body, error.code, headers)


class RoutesModule(Protocol):
    """A module with a group of routes."""

    @property
    def routes(self) -> RouteGroup:
        """The group."""
        ...


@dataclass(frozen=True)
class Section:
    """A part of the document, as its page shows it: a title, a sentence, and the modules of its routes."""

    title: str
    about: str
    groups: tuple[RoutesModule, ...]


class RouteGroup(flask_smorest.Blueprint):  # type: ignore[misc]  # flask-smorest has no types
    """The endpoints of one module. `section` is the title of the part of the document that has them."""

    section = ""

    def register_views_in_doc(self, api: Api, *arguments: Any, **options: Any) -> None:
        """Describe the endpoints when the document is read."""
        for methods in self._docs.values():
            for name, operation in methods.items():
                if name != "parameters":
                    operation["tags"] = [self.section]
        api.describe_later(functools.partial(super().register_views_in_doc, api, *arguments, **options))

    def endpoint(  # noqa: PLR0913 - the whole route in one declaration
        self,
        rule: str,
        method: str = "GET",
        *,
        access: Access,
        responses: Mapping[int, ResponseSchema],
        body: type[StrictSchema] | None = None,
        invalid_body: type[ApiError] = InvalidRequest,
        reads_body: bool = False,
        errors: Sequence[str] = (),
        error_body: type[marshmallow.Schema] = ErrorBody,
        streams: bool = False,
        events: ResponseSchema = None,
        text: str = "",
        rows: str | tuple[str, ...] = (),
        form: type[StrictSchema] | Mapping[str, Any] | None = None,
        examples: Mapping[str, Mapping[str, Any]] | None = None,
        blocking: bool = True,
        path: Mapping[str, str | tuple[str, str]] | None = None,
        query: Sequence[Mapping[str, Any]] = (),
        headers: Sequence[Mapping[str, Any]] = (),
        below_v1: bool = False,
    ) -> Callable[[ViewFunction], ViewFunction]:
        """Declare a route: its access level, request body and responses. The view's docstring documents it.

        `responses` maps a status to the schema of its body, several if it has one of them, None without a
        body. With a `body` schema the view gets the validated body as its first argument; `invalid_body` is
        raised for one that does not fit; with `reads_body` the view reads it itself. `form` is the schema, or
        the JSON Schema, of a multipart form, which the view reads itself. `examples` are bodies by their
        titles, those of a form without its files: a test sends each to a running platform. `path` describes
        the parts of the path, each by a text, or by a text and an example. `errors` are codes of the error
        table, `error_body` the form of their bodies. `streams` adds an event stream as a second content type,
        `events` are the schemas of its events, `text` a plain text that it describes, `rows` the content
        types of the same rows as text (CSV, NDJSON), or of an answer of bytes. The server calls a view with
        `blocking=False` on its event loop: it must do no I/O and wait for nothing. `below_v1`: the same at
        `/v1` and the rule, which pages call: a browser sends the cookie of their session only there.
        """

        shown = {"examples": {title: {"value": example} for title, example in (examples or {}).items()}}

        def decorate(view: ViewFunction) -> ViewFunction:
            handler = view if body is None or reads_body else _with_body(view, body, invalid_body)
            codes = [*errors, *_implied_codes(access, body, invalid_body)]
            if query or path:
                codes.append("target_too_long")
            operation: dict[str, Any] = {
                "responses": {
                    **_success_responses(responses, streams, events, measured=streams),
                    **_text_response(text),
                    **_error_responses(codes, error_body),
                },
                "parameters": [*query, *headers],
            }
            for kind in (rows,) if isinstance(rows, str) else rows:
                content = operation["responses"]["200"].setdefault("content", {})
                content[kind] = {"schema": {"type": "string"}}
            if access is Access.PUBLIC:
                operation["security"] = []
            if body is not None:
                operation["requestBody"] = {
                    "required": not body.allows_empty_body(),
                    "content": {"application/json": {"schema": body, **shown}},
                }
            if form is not None:
                operation["requestBody"] = {
                    "required": True,
                    "content": {"multipart/form-data": {"schema": form, **shown}},
                }
            parameters = [_path_parameter(name, about) for name, about in (path or {}).items()]
            for prefix in ("", "/v1") if below_v1 else ("",):
                name = view.__name__ + prefix.replace("/", "_")
                operation["operationId"] = name
                documented = declare(self.doc(**operation)(handler), access)
                if not blocking:
                    declare_not_blocking(documented)
                self.add_url_rule(prefix + rule, name, documented, parameters=parameters, methods=[method])
            return view

        return decorate


def _path_parameter(name: str, about: str | tuple[str, str]) -> dict[str, Any]:
    """A part of a path: its description, or that and an example."""
    described = {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
    if isinstance(about, str):
        return {**described, "description": about}
    return {**described, "description": about[0], "example": about[1]}


def _with_body(view: ViewFunction, schema: type[StrictSchema], invalid_body: type[ApiError]) -> ViewFunction:
    @functools.wraps(view)
    def read_body_and_call(**path: str) -> Response:
        return view(read_body(current_request(), schema, invalid_body), **path)

    return read_body_and_call


def _implied_codes(
    access: Access, body: type[StrictSchema] | None, invalid_body: type[ApiError]
) -> list[str]:
    """The error codes that follow from the access level and the body."""
    codes = ["internal_error"]
    if access is not Access.PUBLIC:
        codes += ["invalid_request", "invalid_api_key", "tenant_mismatch", access.code]
    if body is not None:
        codes += ["invalid_json", "request_too_large", "unsupported_media_type", invalid_body.default_code]
    return codes


def _success_responses(
    responses: Mapping[int, ResponseSchema], streams: bool, events: ResponseSchema, *, measured: bool
) -> dict[str, Any]:
    documented: dict[str, Any] = {}
    for status, schema in responses.items():
        if schema is None:
            documented[str(status)] = {"description": http.HTTPStatus(status).phrase}
            continue
        one = {"anyOf": list(schema)} if isinstance(schema, tuple) else schema
        content: dict[str, Any] = {"application/json": {"schema": one}}
        if streams and status == 200:
            content["text/event-stream"] = {"schema": {"description": "Server-sent events."}}
        documented[str(status)] = {"description": http.HTTPStatus(status).phrase, "content": content}
        if measured:
            documented[str(status)]["headers"] = MEASUREMENTS
    if streams and not responses:
        data: dict[str, Any] = {"anyOf": list(events)} if isinstance(events, tuple) else {}
        content = {"text/event-stream": {"schema": {"description": "Server-sent events.", **data}}}
        documented["200"] = {"description": "OK", "content": content}
    return documented


def _text_response(about: str) -> dict[str, Any]:
    if not about:
        return {}
    content = {"text/plain": {"schema": {"type": "string"}}}
    return {"200": {"description": about, "content": content}}


def _error_responses(codes: Sequence[str], body: type[marshmallow.Schema]) -> dict[str, Any]:
    """The error responses by status; those of one status share an entry that names all their codes."""
    by_status: dict[int, list[str]] = {}
    for code in dict.fromkeys(codes):
        by_status.setdefault(CODES[code].status, []).append(code)
    return {
        str(status): {
            "description": f"{http.HTTPStatus(status).phrase}: {', '.join(f'`{code}`' for code in named)}.",
            "content": {"application/json": {"schema": body}},
            **({"headers": _RETRY_AFTER} if any(CODES[code].retry for code in named) else {}),
        }
        for status, named in sorted(by_status.items())
    }


MEASUREMENTS = {
    name: {
        "description": f"{about} Once it has ended; in a stream the last event has it in `measurements`.",
        "schema": {"type": kind},
    }
    for name, kind, about in (
        ("X-Queue-Wait-Ms", "integer", "How long the request waited in the queue."),
        ("X-GPU-Time-Ms", "integer", "How long the engine worked on it."),
        ("X-Cache-Hit", "boolean", "Whether a part of the prompt was in the cache."),
        ("X-Cache-Tokens-Reused", "integer", "How many tokens of the prompt were in the cache."),
    )
}

_RETRY_AFTER = {
    "Retry-After": {"description": "Seconds to wait.", "schema": {"type": "integer", "minimum": 1}}
}


def _document_schema(
    of_fields: Callable[[marshmallow.Schema], dict[str, Any]], schema: marshmallow.Schema
) -> dict[str, Any]:
    """The JSON Schema of a schema: that of its fields, and what a strict schema adds."""
    documented = of_fields(schema)
    if isinstance(schema, StrictSchema):
        if schema.closed:
            documented["additionalProperties"] = False
        documented |= schema.also
    return documented


def _document_field(converter: Any, field: marshmallow.fields.Field[Any], **_: object) -> dict[str, Any]:
    """The JSON Schema of the strict fields that apispec does not know."""
    if isinstance(field, EnumField):
        return {"enum": [*field.values, *([None] if field.allow_none else [])]}
    if isinstance(field, OneOfSchemasField):
        return {"anyOf": [converter.resolve_nested_schema(schema) for schema in field.schemas]}
    if isinstance(field, UnionField):
        options = [converter.field2property(option) for option in field.options]
    elif isinstance(field, TaggedUnionField):
        options = [_tagged(converter, field, schema) for schema in dict.fromkeys(field.schemas.values())]
        if field.other is not None:
            tag = {"type": "string", "minLength": 1, "not": {"enum": [*field.schemas]}}
            tagged = {"properties": {"type": tag}, "required": ["type"]}
            options.append({"allOf": [converter.resolve_nested_schema(field.other), tagged]})
    else:
        return {}
    return {"anyOf": [*options, {"type": "null"}] if field.allow_none else options}


def _tagged(converter: Any, field: TaggedUnionField, schema: type[StrictSchema]) -> dict[str, Any]:
    """The JSON Schema of an object whose `type` selects this schema."""
    tags = [tag for tag, other in field.schemas.items() if other is schema]
    tagged: dict[str, Any] = {"properties": {"type": {"enum": tags}}}
    if field.default not in tags:
        tagged["required"] = ["type"]
    return {"allOf": [converter.resolve_nested_schema(schema), tagged]}
