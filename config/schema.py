"""The schemas of the configuration: marshmallow schemas, one for each section of the settings.

A schema only has the valid values; the defaults are in `config.settings` and in the declarations of the
backends. `validate` is the entry point.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from marshmallow import ValidationError, fields, validates_schema

from config.addresses import REDIS_URL, REDIS_URL_ADVICE, is_redis_address
from config.fields import (
    MAX_INT,
    AddressField,
    NamedEntries,
    Section,
    StrictField,
    flag,
    integer,
    matching,
    number,
    text,
    word,
)
from config.fixed_ports import shared_ports
from config.governance_schema import GovernanceSchema
from config.model_schema import MODEL_NAME, read_model
from config.oidc_schema import OidcSchema
from config.tenant_schema import TENANT_NAME, TenancySchema, TenantSchema
from config.tools_schema import ToolsSchema
from config.webhook_schema import WebhookSchema

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
    cached_token_weight = number(0, 1)
    locality_deficit_tokens = integer(0, 100_000_000)
    background_reserve = integer(0, 4096)


class VllmSchema(Section):
    """`vllm`: some options of the backend, with its bounds."""

    enable_prefix_caching = flag(nullable=True)
    max_model_len = integer(1, MAX_INT, nullable=True)
    gpu_memory_utilization = number(0.01, 1, nullable=True)


class HubSchema(Section):
    """`hub`."""

    offline = flag()
    keep_free_mib = integer(0, MAX_INT)


class OnDemandSchema(Section):
    """`on_demand`."""

    max_loaded = integer(1, MAX_INT, nullable=True)
    min_residency_s = number(0, 86_400)
    timeout_ms = integer(1, MAX_INT)


class ScalingSchema(Section):
    """`scaling`."""

    target_wait_s = number(0.1, 86_400)
    quiet_s = number(1, 31_536_000)


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


class HistorySchema(Section):
    """`history`."""

    retention_s = integer(60, MAX_INT)
    max_requests_per_tenant = integer(1, 1_000_000)
    max_bytes = integer(1_048_576, 2**53)


class ResponseSchema(Section):
    """`responses`."""

    retention_s = integer(1, MAX_INT)
    resumable_retention_s = integer(1, MAX_INT)
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
    max_media_bytes = integer(1, 2**40)
    upload_timeout_s = number(1, 86_400)
    keep_free_mib = integer(0, MAX_INT)


class StateSchema(Section):
    """`state`."""

    directory = matching(r"/[^\0]*", "an absolute path", nullable=True)
    max_bytes_per_tenant = integer(1, 2**53)
    max_files_per_tenant = integer(1, 100_000)


class BatchSchema(Section):
    """`batches`."""

    max_in_flight = integer(1, 100_000)
    max_active_per_tenant = integer(1, 1000)


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
    models_preset = text(nullable=True)
    model_base_path = text(nullable=True)
    runner_id = matching(r"[!-~]{1,128}", "1 to 128 visible characters", nullable=True)
    redis = _section(RedisSchema)
    api = _section(ApiSchema)
    metrics = _section(MetricsSchema)
    ui = _section(UiSchema)
    oidc = _section(OidcSchema)
    flower = _section(FlowerSchema)
    worker = _section(WorkerSchema)
    queue = _section(QueueSchema)
    vllm = _section(VllmSchema)
    hub = _section(HubSchema)
    on_demand = _section(OnDemandSchema)
    scaling = _section(ScalingSchema)
    limits = _section(LimitSchema)
    lease = _section(LeaseSchema)
    restart = _section(RestartSchema)
    history = _section(HistorySchema)
    responses = _section(ResponseSchema)
    streams = _section(StreamSchema)
    state = _section(StateSchema)
    files = _section(FileSchema)
    tools = _section(ToolsSchema)
    batches = _section(BatchSchema)
    webhooks = _section(WebhookSchema)
    tenancy = _section(TenancySchema)
    governance = _section(GovernanceSchema)
    tenants = NamedEntries("tenant", TENANT_NAME, _read_tenant)
    models = NamedEntries("model", MODEL_NAME, read_model)

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
        values: Any = read_model(name, raw)
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
