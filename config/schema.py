"""The schemas of the configuration: marshmallow schemas, one for each section of the settings.

A schema only has the valid values; the defaults are in `config.settings` and in the declarations of the
backends. `validate` is the entry point.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, ClassVar

from marshmallow import Schema, ValidationError, fields, validates_schema

from backends.catalogue import BACKENDS, backends_with_option
from backends.declaration import (
    FORMATS,
    LORA,
    MAX_LORAS,
    OBJECT_FORMATS,
    URL,
    VARIABLE_NAME,
    Backend,
    Option,
    format_in_words,
)
from backends.prompt_formats import PROMPT_FORMATS
from config.addresses import REDIS_URL, REDIS_URL_ADVICE, is_redis_address
from config.fields import (
    AddressField,
    NamedEntries,
    Section,
    StrictField,
    as_json,
    choice,
    flag,
    integer,
    mapping,
    matching,
    networks,
    number,
    one_of,
    rate,
    suggestion,
    text,
    texts,
    texts_by_name,
    word,
)
from config.fixed_ports import shared_ports
from config.governance_schema import GovernanceSchema
from config.hub_artifact import parse as parse_hub_path
from config.settings import PRIORITIES, ModelDefinition
from config.webhook_schema import WebhookSchema

TENANT_NAME = r"[a-z0-9][a-z0-9_-]{0,63}"
MODEL_NAME = r"[A-Za-z0-9][\w.-]*(/(?!((un)?load|log)$)[\w.-]+)?"  # `x/load` is the path of an action on `x`
LOG_LEVELS = ("debug", "info", "warning", "error")
LOG_LEVEL_SYNONYMS = {
    "trace": "debug",
    "notice": "info",
    "warn": "warning",
    "critical": "error",
    "fatal": "error",
}
"""What other programs call these levels: they share the variable `LOG_LEVEL`."""
LOG_FORMATS = ("text", "json")
MAX_INT = 2**31 - 1
HOST = re.compile(r"([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?")


ORIGIN = re.compile(
    r"(?P<scheme>[a-z][a-z0-9+.-]*)://([a-z0-9._-]+|\[[0-9a-f:.]+\])(:(?P<port>[1-9][0-9]{0,4}))?"
)
USUAL_PORTS = (("http", "80"), ("https", "443"))
"""Ports that browsers leave out of an origin."""


class RedisSchema(Section):
    """`redis`."""

    url = AddressField(
        REDIS_URL,
        "an address redis://..., rediss://... or unix://...",
        is_redis_address,
        advice=REDIS_URL_ADVICE,
    )
    prefix = matching(r"[A-Za-z0-9_.-]{1,32}", "1 to 32 letters, digits, '_', '.' or '-'")


class ApiSchema(Section):
    """`api`."""

    host = text()
    port = integer(0, 65535)
    processes = integer(1, 256)
    threads = integer(4, 10_000)
    max_streams = integer(1, 1_000_000)
    keep_alive_s = number(0.1, 3600)
    whole_keep_alive_s = number(0.1, 3600, nullable=True)
    head_after_first_token = flag()
    drain_delay_s = number(0, 3600)
    graceful_timeout_s = integer(0, 3600)
    head_timeout_s = number(0.1, 3600)
    body_timeout_s = number(0.1, 3600)
    write_timeout_s = number(0.1, 3600)
    max_body_bytes = integer(1024, MAX_INT)
    max_pending_body_bytes = integer(1024, 2**53)
    max_connections = integer(1, 1_000_000)
    max_connections_per_address = integer(1, 1_000_000, nullable=True)
    allowed_hosts = StrictField(
        "a list of host names, each with or without a port",
        lambda value: (
            isinstance(value, list) and all(isinstance(item, str) and HOST.fullmatch(item) for item in value)
        ),
        convert=tuple,
    )
    allowed_origins = StrictField(
        'a list of origins such as https://chat.example (lower case, no path, no port 443), or ["*"]',
        lambda value: isinstance(value, list) and (value == ["*"] or all(map(_is_origin, value))),
        convert=tuple,
    )


class MetricsSchema(Section):
    """`metrics`."""

    enabled = flag()
    host = text()
    port = integer(0, 65535, nullable=True)


class UiSchema(Section):
    """`ui`."""

    enabled = flag()


class FlowerSchema(Section):
    """`flower`."""

    host = text()
    port = integer(0, 65535)
    url = AddressField(
        r"https?://[^\s/?#@]+(/[^\s?#]*)?",
        "an address http://... or https://..., without user, query and fragment",
        nullable=True,
    )


class WorkerSchema(Section):
    """`worker`."""

    task_events = flag()
    drain_timeout_s = number(0, 86_400)


class QueueSchema(Section):
    """`queue`."""

    max_depth = integer(0, 1_000_000)
    max_depth_per_tenant = integer(0, 1_000_000, nullable=True)
    timeout_ms = integer(1, MAX_INT)
    saturated_at = number(0.01, 1)
    reserve_one_in = integer(2, 4096, nullable=True)


class VllmSchema(Section):
    """`vllm`: some options of the backend, with its bounds."""

    enable_prefix_caching = flag(nullable=True)
    max_model_len = integer(1, MAX_INT, nullable=True)
    gpu_memory_utilization = number(0.01, 1, nullable=True)


class HubSchema(Section):
    """`hub`."""

    offline = flag()
    keep_free_mib = integer(0, MAX_INT)


class LimitSchema(Section):
    """`limits`."""

    request_timeout_s = number(0.1, 86_400)
    first_event_timeout_s = number(0.1, 86_400)
    idle_timeout_s = number(0.1, 86_400)
    probe_timeout_s = number(0.1, 86_400)
    unload_timeout_s = number(0, 86_400)
    max_log_bytes = integer(1024, MAX_INT)


class LeaseSchema(Section):
    """`lease`."""

    lease_ms = integer(100, 600_000)


class RestartSchema(Section):
    """`restart`."""

    max_restarts = integer(0, 1000)


class ResponseSchema(Section):
    """`responses`."""

    retention_s = integer(1, MAX_INT)
    max_bytes_per_tenant = integer(1, 2**53)
    max_bytes = integer(1, 2**53)
    conversation_retention_s = integer(1, MAX_INT)
    max_conversations_per_tenant = integer(1, 1_000_000)
    max_conversation_bytes_per_tenant = integer(1, 2**53)
    max_conversation_bytes = integer(1, 2**53)


class StreamSchema(Section):
    """`streams`."""

    session_ttl_s = integer(1, MAX_INT)
    session_max_bytes = integer(1024, 2**53)
    session_gc_interval_s = integer(1, MAX_INT)
    read_wake_interval_ms = integer(1, MAX_INT)
    lookup_timeout_ms = integer(1, 600_000)


STORAGE = r"/[^\0]*|s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](/[A-Za-z0-9!_.*'()-]+)*"


class FileSchema(Section):
    """`files`."""

    storage = matching(STORAGE, "an absolute path, or s3://bucket/prefix", nullable=True)
    max_bytes_per_tenant = integer(1, 2**53)
    max_files_per_tenant = integer(1, 100_000)
    max_file_bytes = integer(1, 2**40)
    upload_timeout_s = number(1, 86_400)
    keep_free_mib = integer(0, MAX_INT)


class BatchSchema(Section):
    """`batches`."""

    max_in_flight = integer(1, 100_000)
    max_active_per_tenant = integer(1, 1000)


class TenancySchema(Section):
    """`tenancy`."""

    enabled = flag()
    trusted_proxies = networks()
    rate_limit = rate()
    token_limit = rate()
    max_running = integer(1, MAX_INT, nullable=True)
    max_streams = integer(1, MAX_INT, nullable=True)
    max_readers = integer(1, MAX_INT)


class TenantSchema(Section):
    """One of `tenants`."""

    weight = number(0.001, 1_000_000)
    max_priority = choice(PRIORITIES)
    api_keys_sha256 = StrictField(
        "a list of SHA-256 digests (64 lower-case hex digits each)",
        lambda value: isinstance(value, list) and all(map(_is_digest, value)),
        convert=tuple,
        secret=True,  # a key pasted in clear text must not reach a log
    )
    admin = flag()
    rate_limit = rate()
    token_limit = rate()
    max_running = integer(1, MAX_INT, nullable=True)
    max_waiting = integer(0, MAX_INT, nullable=True)
    max_streams = integer(1, MAX_INT, nullable=True)
    max_readers = integer(1, MAX_INT, nullable=True)
    max_bytes = integer(1, 2**53, nullable=True)
    receipts = flag()


class ModelSchema(Section):
    """The common part of one of `models`; `model_schema` adds the options of its backend."""

    backend = choice(BACKENDS)
    model_path = text(nullable=True)
    device = matching(r"auto|cpu|cuda(:\d+)?", '"auto", "cpu", "cuda" or "cuda:N"')
    prompt_format = choice(PROMPT_FORMATS)
    enabled = flag()
    replicas = integer(1, 64)
    replica_max = integer(1, 64)
    target_inflight = integer(1, 4096)
    load_timeout_s = number(0.1, 86_400)
    model_sha256 = StrictField(
        "an object with SHA-256 digests (64 lower-case hex digits) by file name",
        lambda value: isinstance(value, Mapping) and all(map(_is_digest, value.values())),
    )

    declaration: ClassVar[Backend]

    def unknown_key(self, key: str) -> str:
        """The error message for an unknown key; an option of another backend is identified as such."""
        others = backends_with_option(key)
        if others:
            backend = self.declaration.name
            return f"belongs to the backend {' or '.join(others)}; this model's backend is {backend}"
        return super().unknown_key(key)

    @validates_schema
    def _the_hub_path_is_well_formed(self, data: dict[str, Any], **_: object) -> None:
        try:
            parse_hub_path(data.get("model_path"))
        except ValueError as error:
            raise ValidationError({"model_path": [str(error)]}) from None

    @validates_schema(skip_on_field_errors=False)
    def _replicas_fit(self, data: dict[str, Any], **_: object) -> None:
        replicas = data.get("replicas", ModelDefinition.replicas)
        maximum = data.get("replica_max")
        if maximum is not None and replicas > maximum:
            raise ValidationError({"replicas": [f"must be at most replica_max ({maximum}), not {replicas}"]})
        for option in self.declaration.one_replica_with:
            if data.get(option) is not None and max(replicas, maximum or 0) > 1:
                message = "is for one replica: leave it out, and each replica gets its own"
                raise ValidationError({option: [message]})

    @validates_schema(skip_on_field_errors=False)
    def _slots_fit(self, data: dict[str, Any], **_: object) -> None:
        slots, most = data.get("target_inflight"), self.declaration.max_slots
        if slots is not None and most is not None and slots > most:
            message = f"must be at most {most} for {self.declaration.name}, not {slots}: use more replicas"
            raise ValidationError({"target_inflight": [message]})

    @validates_schema
    def _options_go_together(self, data: dict[str, Any], **_: object) -> None:
        values = {name: value for name, value in data.items() if value is not None}
        problems = {
            name: [message]
            for name, message in (*self.declaration.problems(values), *self.declaration.ineffective(values))
        }
        if problems:
            raise ValidationError(problems)

    @validates_schema(skip_on_field_errors=False)
    def _has_a_model_path(self, data: dict[str, Any], **_: object) -> None:
        if self.declaration.needs_model_path and data.get("model_path") is None:
            message = f"is missing; the backend {self.declaration.name} needs the path of a model file"
            raise ValidationError({"model_path": [message]})

    @validates_schema(pass_original=True, skip_on_field_errors=False)
    def _has_required_options(self, _data: object, original: Mapping[str, Any], **_: object) -> None:
        options = (option for option in self.declaration.options if option.name in self.declaration.required)
        missing = {
            option.name: [f"is missing; the backend {self.declaration.name} needs {option.about}"]
            for option in options
            if original.get(option.name) is None
        }
        if missing:
            raise ValidationError(missing)


@cache
def option_field(option: Option) -> StrictField:
    """The field that validates one option of a backend."""
    kinds: dict[str, Callable[[], StrictField]] = {
        "integer": lambda: _integer(option),
        "float": lambda: number(option.minimum, option.maximum, nullable=option.nullable),
        "enum": lambda: choice(option.choices, nullable=option.nullable),
        "string": lambda: _string(option),
        "boolean": lambda: flag(nullable=option.nullable),
        "list": lambda: texts(nullable=option.nullable),
        "object": lambda: _object(option),
    }
    return kinds[option.kind]()


def _integer(option: Option) -> StrictField:
    minimum, maximum = _int(option.minimum), _int(option.maximum)
    return integer(minimum, maximum, multiple=option.multiple or 1, nullable=option.nullable)


def _string(option: Option) -> StrictField:
    pattern = FORMATS.get(option.format or "")
    if pattern is None:
        return text(nullable=option.nullable)
    if option.format == URL:
        return AddressField(pattern, format_in_words(URL), nullable=option.nullable)
    # an operator may put the key itself in place of a variable's name
    secret = option.secret or option.format == VARIABLE_NAME
    return matching(pattern, format_in_words(option.format or ""), secret=secret, nullable=option.nullable)


def _object(option: Option) -> StrictField:
    if option.format is None:
        return mapping(nullable=option.nullable, secret=option.secret)
    if option.format == LORA:
        name, path = OBJECT_FORMATS[LORA]
        expects = (
            f"an object with the path of each of at most {MAX_LORAS} LoRA adapters, whose names are 1 to 64"
            " letters, digits, '_', '.' or '-'"
        )
        return texts_by_name(expects, name, path, most=MAX_LORAS, nullable=option.nullable)
    return texts_by_name(
        f"an object with a string for each {option.format}",
        *OBJECT_FORMATS[option.format],
        nullable=option.nullable,
        secret=option.secret,
    )


@cache
def model_schema(backend: str) -> Schema:
    """The schema of a model of this backend."""
    declaration = BACKENDS[backend]
    options = {option.name: option_field(option) for option in declaration.options}
    members: dict[str, Any] = {"declaration": declaration, "__doc__": f"A model on {backend}.", **options}
    schema: type[ModelSchema] = type(f"ModelOn_{backend}", (ModelSchema,), members)
    return schema()


def _read_model(_name: str, raw: object) -> object:
    if not isinstance(raw, Mapping):
        raise ValidationError(f"must be an object, not {as_json(raw)}")
    backend = raw.get("backend")
    if isinstance(backend, str) and backend in BACKENDS:
        return model_schema(backend).load(raw)
    if backend is None:
        raise ValidationError({"backend": [f"is missing; it must be {one_of(BACKENDS)}"]})
    hint = suggestion(backend, BACKENDS) if isinstance(backend, str) else ""
    raise ValidationError({"backend": [f"must be {one_of(BACKENDS)}, not {as_json(backend)}{hint}"]})


def _read_tenant(_name: str, raw: Mapping[str, Any]) -> object:
    return TenantSchema().load(raw)


def _section(schema: type[Section]) -> fields.Nested:
    return fields.Nested(schema, error_messages={"null": "must be an object, not null"})


class SettingsSchema(Section):
    """The whole configuration."""

    data_dir = text()
    runtimes_dir = text()
    log_level = word(LOG_LEVELS, LOG_LEVEL_SYNONYMS)
    log_format = word(LOG_FORMATS)
    model_base_path = text(nullable=True)
    runner_id = matching(r"[!-~]{1,128}", "1 to 128 visible characters", nullable=True)
    redis = _section(RedisSchema)
    api = _section(ApiSchema)
    metrics = _section(MetricsSchema)
    ui = _section(UiSchema)
    flower = _section(FlowerSchema)
    worker = _section(WorkerSchema)
    queue = _section(QueueSchema)
    vllm = _section(VllmSchema)
    hub = _section(HubSchema)
    limits = _section(LimitSchema)
    lease = _section(LeaseSchema)
    restart = _section(RestartSchema)
    responses = _section(ResponseSchema)
    streams = _section(StreamSchema)
    files = _section(FileSchema)
    batches = _section(BatchSchema)
    webhooks = _section(WebhookSchema)
    tenancy = _section(TenancySchema)
    governance = _section(GovernanceSchema)
    tenants = NamedEntries("tenant", TENANT_NAME, _read_tenant)
    models = NamedEntries("model", MODEL_NAME, _read_model)

    @validates_schema
    def _a_key_has_one_tenant(self, data: dict[str, Any], **_: object) -> None:
        tenants: dict[str, str] = {}
        for name, tenant in data.get("tenants", {}).items():
            for digest in tenant.get("api_keys_sha256", ()):
                first = tenants.setdefault(digest, name)
                if first != name:
                    message = (
                        f"has a key that already belongs to the tenant {first}; a key may have only "
                        "one tenant"
                    )
                    raise ValidationError({"tenants": {name: {"api_keys_sha256": [message]}}})

    @validates_schema
    def _a_port_has_one_enabled_model(self, data: dict[str, Any], **_: object) -> None:
        problems = {
            name: {
                option: [
                    f"is also the port of models.{other}.{taken}, and both models are enabled: set "
                    "another one, or leave it out so that the engine gets a free one"
                ]
            }
            for name, option, other, taken in shared_ports(data.get("models", {}))
        }
        if problems:
            raise ValidationError({"models": problems})


Problem = tuple[tuple[str, ...], str]
"""The path of an invalid setting (`("models", "demo", "replicas")`), and the message about it."""


def validate(raw: Mapping[str, Any]) -> tuple[dict[str, Any], list[Problem]]:
    """Validate a merged configuration.

    Returns the values, without defaults, and the problems. If there are problems, the values are incomplete.
    """
    try:
        return SettingsSchema().load(raw), []
    except ValidationError as error:
        return {}, _flat(error.messages, ())


def validate_model(name: str, raw: Mapping[str, Any]) -> tuple[dict[str, Any], list[Problem]]:
    """Validate the fields of one model, whose name is checked by the caller; see `validate`."""
    try:
        values: Any = _read_model(name, raw)
    except ValidationError as error:
        return {}, _flat(error.messages, ("models", name))
    return values, []


def _flat(messages: Any, path: tuple[str, ...]) -> list[Problem]:
    if isinstance(messages, Mapping):
        return [
            found
            for key, below in messages.items()
            for found in _flat(below, path if key == "_schema" else (*path, str(key)))
        ]
    return [(path, " and ".join(str(message) for message in messages))]


def _is_origin(value: object) -> bool:
    """Whether a value is a serialized origin (HTML standard, "Origin"); `null` belongs to no page."""
    found = ORIGIN.fullmatch(value) if isinstance(value, str) else None
    return found is not None and (found["scheme"], found["port"]) not in USUAL_PORTS


def _is_digest(value: object) -> bool:
    return isinstance(value, str) and len(value) == 64 and set(value) <= set("0123456789abcdef")


def _int(bound: float | None) -> int | None:
    return None if bound is None else int(bound)
