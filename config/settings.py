"""Every setting of the platform, as frozen dataclasses with the shipped defaults.

`config.load.load_settings` fills them from `settings.json`, `local.json` and the environment. Nothing else in
the project reads a configuration file. The name of a duration ends with its unit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from config.rate_limit import RateLimit

ROOT = Path(__file__).resolve().parent.parent
"""The project's root: relative paths in the settings are resolved against it."""

PRIORITIES = ("high", "normal", "low")
"""The priorities, the most urgent first. `X-Priority` names one of them."""

Locality = Literal["off", "tenant", "fair"]
"""How far cached prompts decide: not at all; where a request runs, and which of a tenant's requests is next;
or which of all requests is next, too."""

DEFAULT_TENANT = "default"
ADMIN_TENANT = "admin"

LOAD, UNLOAD, FLUSH, ACCESS_CHANGE = "model-load", "model-unload", "cache-flush", "access-change"
ADD, REMOVE = "model-add", "model-remove"
"""The governed operations, as opTokens and the configuration name them."""

PROPOSED_OPERATIONS = (ADD, REMOVE, ACCESS_CHANGE)
"""Those that only a proposal approves: additions and removals of models, changes of tenants and keys."""

GOVERNED_OPERATIONS = (LOAD, UNLOAD, FLUSH, *PROPOSED_OPERATIONS)
"""The operations that need an approval, each with a rule."""

SIGNED = "signed"
"""The mode of a rule in which the signatures of proposals approve an operation."""

DATA_DIR = ".stoker"
RUNTIMES_DIR = "runtimes"  # in the data folder


@dataclass(frozen=True)
class RedisSettings:
    """The Redis server with the shared state: the ledger, the event logs and Celery's queues."""

    url: str = "redis://127.0.0.1:6379/0"
    prefix: str = "stoker"  # of all keys; platforms with different prefixes may share one server


@dataclass(frozen=True)
class ApiSettings:
    """The HTTP server: processes with an event loop each."""

    host: str = "127.0.0.1"
    port: int = 8080
    processes: int = 1
    threads: int = 32  # for short requests; those that wait or stream hold none
    max_streams: int = 10_000  # requests of one process that wait for a model; beyond it: 503 server_busy
    keep_alive_s: float = 15.0  # after this time without an event, a stream gets a `: ka` comment
    whole_keep_alive_s: float | None = (
        None  # the same for answers in one piece, by white space before the JSON
    )
    head_after_first_token: bool = False  # the head of a stream waits for its first event, or a keep-alive
    drain_delay_s: float = 0.0  # after SIGTERM: requests are taken, and /ready answers 503
    graceful_timeout_s: int = 10
    head_timeout_s: float = 10.0  # time for a request's head to arrive
    body_timeout_s: float = 30.0  # time for its body
    write_timeout_s: float = 30.0  # a client that takes nothing of its answer for this time is disconnected
    max_body_bytes: int = 8 * 1024 * 1024
    max_pending_body_bytes: int = 256 * 1024 * 1024  # of all bodies that are arriving, per process
    max_connections: int = 16_384  # per process
    max_connections_per_address: int | None = None  # three quarters of max_connections unless set
    allowed_hosts: tuple[str, ...] = ()  # without API keys: further values of Host, and hosts of Origin
    allowed_origins: tuple[str, ...] = ()  # of web pages that may read answers (CORS); `*` is any origin


@dataclass(frozen=True)
class MetricsSettings:
    """`GET /metrics`: measurements for Prometheus."""

    enabled: bool = True  # on the API's port, for keys with the scope metrics
    host: str = "127.0.0.1"  # of the further port; anyone who reaches a loopback address needs no key
    port: int | None = None  # serves /metrics on a further port


@dataclass(frozen=True)
class UiSettings:
    """The web pages for operators, on the API's port."""

    enabled: bool = True  # at /ui/; off: these paths do not exist


ROLES = ("viewer", "operator", "approver", "admin")
"""The roles of people. A person may have several."""


@dataclass(frozen=True)
class OidcGroup:
    """What a value of `oidc.claim` gives a person: a role, and the tenant of its requests."""

    role: str
    tenant: str | None = None  # that of oidc.tenant unless set


OIDC_SECRET_VARIABLE = "STOKER_OIDC_CLIENT_SECRET"  # noqa: S105 - the name of a variable
"""The environment variable with the client's secret, unless `oidc.secret_variable` names another."""


@dataclass(frozen=True)
class OidcSettings:
    """Sign-in of people by an OpenID Connect provider, beside API keys. Off without an issuer."""

    issuer: str | None = None  # https://..., as its discovery document names it; http only for loopback
    client_id: str | None = None
    secret_variable: str | None = None  # that of the client's secret; STOKER_OIDC_CLIENT_SECRET unless set
    name: str = "single sign-on"  # on the button of the sign-in page
    scopes: tuple[str, ...] = ("openid", "profile", "email")
    redirect_url: str | None = None  # https://.../ui/sign-in; from the address in the browser unless set
    claim: str = "groups"  # whose values give roles; with dots for one within another
    groups: Mapping[str, OidcGroup] = field(default_factory=dict)  # by value of the claim
    default_role: str | None = None  # of people without a group; null: they may not sign in
    tenant: str = "default"  # of people whose group names none
    email_domains: tuple[str, ...] = ()  # if any: a verified address of one of them is needed
    session_s: int = 43_200  # the longest time from a sign-in to the next


@dataclass(frozen=True)
class FlowerSettings:
    """The task monitor, which always asks for a password and is never published."""

    host: str = "127.0.0.1"
    port: int = 5555
    url: str | None = None  # its address in a browser, for links in the UI; `stoker up` sets it


@dataclass(frozen=True)
class WorkerSettings:
    """The worker processes, one per GPU."""

    task_events: bool = True  # shown by Flower; cost CPU time per task (see docs/benchmarks.md)
    drain_timeout_s: float = 30.0  # time for running requests to finish after SIGTERM


@dataclass(frozen=True)
class QueueSettings:
    """Limits of the queues."""

    max_depth: int = 64  # waiting jobs per model; beyond it: 503 queue_full
    max_depth_per_tenant: int | None = None  # of these, of one tenant; None: see `config.limits`
    timeout_ms: int = 120_000  # longest time in the queue; after it: 503 queue_timeout
    saturated_at: float = 1.0  # share of max_depth from which on a queue makes the platform unhealthy
    reserve_one_in: int | None = None  # one slot in N of a model is kept for tenants that run nothing there
    cached_token_weight: float = 0.1  # what a token of a reused prefix counts for fair share; 1: as any other
    locality_deficit_tokens: int = 32_000  # by so many a tenant may go ahead of another for a cached prompt
    background_reserve: int = 1  # so many slots of a model are kept from background jobs; 0: none


@dataclass(frozen=True)
class VllmSettings:
    """Options of the models of `vllm` and `vllm_serve` that do not set them. None: vLLM's own default."""

    enable_prefix_caching: bool | None = None
    max_model_len: int | None = None
    gpu_memory_utilization: float | None = None


@dataclass(frozen=True)
class HubSettings:
    """Downloads of models that `model_path` names on a Hugging Face hub (`hf://org/name`)."""

    offline: bool = False  # nothing is downloaded: what is not on the worker's host fails to load
    keep_free_mib: int = 1024  # of the disk that a download writes to


@dataclass(frozen=True)
class OnDemandSettings:
    """Loads of models that requests ask for (`on_demand: "load"` of a model)."""

    max_loaded: int | None = None  # models that requests have loaded, at a time; None: as many as fit
    min_residency_s: float = 10.0  # a model that was loaded for a request stays at least so long
    timeout_ms: int = 600_000  # longest wait of a request for a model that is loaded on demand


@dataclass(frozen=True)
class ScalingSettings:
    """Replicas that follow the load (`replicas: {"min": 1, "max": 4}` of a model)."""

    target_wait_s: float = 5.0  # a queue that takes longer than this gets one more replica
    quiet_s: float = 120.0  # one replica goes after so long a time in which the others would have been enough


@dataclass(frozen=True)
class LimitSettings:
    """Limits of one request."""

    request_timeout_s: float = 600.0  # from its first dispatch to its end
    first_event_timeout_s: float = 120.0  # without any event for this time, the engine is stalled
    idle_timeout_s: float = 60.0  # the same, between two events
    probe_timeout_s: float = 30.0  # a stalled engine that cannot generate one token in this time is killed
    unload_timeout_s: float = 600.0  # time for running requests to finish before an unload ends them
    max_log_bytes: int = 4 * 1024 * 1024  # size of the event log of one response

    def unload_limit_s(self, model: ModelDefinition) -> float:
        """The time for running requests to finish before an unload of this model ends them."""
        return self.unload_timeout_s if model.unload_timeout_s is None else model.unload_timeout_s


@dataclass(frozen=True)
class LeaseSettings:
    """Detection of dead workers, guaranteed within lease_ms + reap_ms + 1 s."""

    lease_ms: int = 5_000  # lifetime of a lease without renewal

    @property
    def heartbeat_ms(self) -> int:
        """The interval of the heartbeats, which renew the leases: three may be lost in a row."""
        return self.lease_ms // 5

    @property
    def reap_ms(self) -> int:
        """The interval of the check for expired leases: it adds a tenth of the lease to the detection."""
        return self.lease_ms // 10


@dataclass(frozen=True)
class RestartSettings:
    """Restarts of crashed engines."""

    max_restarts: int = 10  # of a model, within an hour; then it waits for an operator. 0: no restart


@dataclass(frozen=True)
class HistorySettings:
    """The history of requests that have ended or were refused."""

    retention_s: int = 604_800  # time for which a request is listed
    max_requests_per_tenant: int = 5_000  # beyond it a tenant loses its oldest ones
    max_bytes: int = 67_108_864  # of all tenants; beyond it the one with the most bytes loses its oldest ones


@dataclass(frozen=True)
class ResponseSettings:
    """Stored responses."""

    retention_s: int = 3_600  # time for which a finished response can be retrieved and replayed
    resumable_retention_s: int = 86_400  # the same of one whose request has an X-Conversation-Id
    max_bytes_per_tenant: int = 1_073_741_824  # of a tenant's large requests and ended responses: 429
    max_bytes: int = 3_221_225_472  # of all tenants: 503 storage_full; one holds at most what is free
    conversation_retention_s: int = 31_536_000  # time for which a conversation is kept after its last change
    max_conversations_per_tenant: int = 10_000
    max_conversation_bytes_per_tenant: int = 268_435_456
    max_conversation_bytes: int = 1_073_741_824  # of all tenants, as `max_bytes`


@dataclass(frozen=True)
class StreamSettings:
    """Streams that can be read again by a conversation id: llama-server's constants, by its names."""

    session_ttl_s: int = 300  # time after its end for which a stream can be read
    session_max_bytes: int = 4_194_304  # of a stream's last bytes that can be read
    session_gc_interval_s: int = 60  # no effect: streams are removed when they are due
    read_wake_interval_ms: int = 200  # no effect: readers are woken by events
    lookup_timeout_ms: int = 250  # time for a lookup's sizes


@dataclass(frozen=True)
class StateSettings:
    """States of conversations that engines save to files (docs/decisions/0039-saved-states.md)."""

    directory: str | None = None  # on each worker's host, for the platform alone; None: nothing is saved
    max_bytes_per_tenant: int = 4_294_967_296
    max_files_per_tenant: int = 100


@dataclass(frozen=True)
class FileSettings:
    """Files that clients upload, and the results of batches."""

    storage: str | None = None  # a folder, or s3://bucket/prefix; `files` of the data folder unless set
    max_bytes_per_tenant: int = 4_294_967_296
    max_files_per_tenant: int = 1_000
    max_file_bytes: int = 536_870_912  # of one upload, whatever api.max_body_bytes is
    max_media_bytes: int = 104_857_600  # of the sounds and pictures of one request
    upload_timeout_s: float = 900.0  # time for the body of an upload
    keep_free_mib: int = 1024  # of the disk of the data folder


WEBHOOK_EVENTS = ("response.completed", "response.failed", "response.cancelled", "response.incomplete")
ALERT_EVENTS = ("alert.firing", "alert.resolved")


@dataclass(frozen=True)
class WebhookTarget:
    """Where the events of a tenant's background responses, or of alerts, are sent.

    `secret_variable` is the environment variable of the API with the secret of the signatures. `tenant` is
    None for a target of alerts only.
    """

    tenant: str | None
    url: str
    secret_variable: str
    events: tuple[str, ...] = WEBHOOK_EVENTS


@dataclass(frozen=True)
class WebhookSettings:
    """Events about background responses that have ended, and alerts (docs/decisions/0023-webhooks.md)."""

    allowed_hosts: tuple[str, ...] = ()
    allow_private: bool = False
    targets: Mapping[str, WebhookTarget] = field(default_factory=dict)


TOOL_NAMES = (
    "get_datetime",
    "read_file",
    "file_glob_search",
    "grep_search",
    "write_file",
    "edit_file",
)
WRITE_TOOLS = ("write_file", "edit_file")
ALL = "all"


@dataclass(frozen=True)
class McpServer:
    """A server of the Model Context Protocol: a program (`command`), or an address (`url`).

    `pass_env` are the variables of the API that the program gets; `secret_variable` is the one with the
    bearer token for the address. `tenants` are those that may use it; None: all.
    """

    command: str | None = None
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    pass_env: tuple[str, ...] = ()
    cwd: str | None = None
    max_memory_mib: int = 2048
    url: str | None = None
    secret_variable: str | None = None
    timeout_ms: int = 30_000  # of one call
    tenants: tuple[str, ...] | None = None


@dataclass(frozen=True)
class ToolSettings:
    """Tools that the platform runs for clients (docs/tools.md). Off unless one is enabled."""

    enabled: tuple[str, ...] = ()  # of TOOL_NAMES, or `all`
    write: tuple[str, ...] = ()  # the tenants that may use WRITE_TOOLS, or `all`
    directory: str | None = None  # has a folder for each tenant; `tools` of the data folder unless set
    max_bytes_per_tenant: int = 268_435_456
    max_files_per_tenant: int = 10_000  # folders count, too
    max_file_bytes: int = 4_194_304
    time_limit_s: float = 10.0  # of one call of a file tool
    max_result_bytes: int = 65_536  # of one call
    mcp_servers: Mapping[str, McpServer] = field(default_factory=dict)


@dataclass(frozen=True)
class BatchSettings:
    """Batches of requests."""

    max_in_flight: int = 64  # jobs of a tenant's batches that wait or run
    max_active_per_tenant: int = 100  # batches that have not ended


@dataclass(frozen=True)
class TenancySettings:
    """Whether there are several tenants, who may name them, and the limits of tenants without their own.

    None: no limit.
    """

    enabled: bool = True  # False: every request belongs to the tenant `default`, and X-Tenant-ID is ignored
    trusted_proxies: tuple[
        str, ...
    ] = ()  # addresses and networks whose X-Tenant-ID is believed without a key
    rate_limit: RateLimit | None = None  # requests
    token_limit: RateLimit | None = None  # tokens of prompts and answers
    max_running: int | None = None
    max_streams: int | None = None  # clients that wait or stream, per API process
    max_readers: int = 16  # of one response, per API process


@dataclass(frozen=True)
class Tenant:
    """An owner of API keys, which are stored as SHA-256 hex digests only.

    `weight` determines its fair share while several tenants have waiting jobs; `max_priority` the most urgent
    priority that it may request. A limit that is None is the one of `TenancySettings`, `QueueSettings`
    (`max_waiting`) or `ResponseSettings` (`max_bytes`); a budget that is None bounds nothing.
    """

    name: str
    weight: float = 1.0
    max_priority: str = "high"
    api_keys_sha256: tuple[str, ...] = ()
    admin: bool = False
    rate_limit: RateLimit | None = None
    token_limit: RateLimit | None = None
    max_running: int | None = None
    max_waiting: int | None = None  # per model
    max_streams: int | None = None
    max_readers: int | None = None
    max_bytes: int | None = None
    budget_tokens: int | None = None  # what its ended requests may use in a calendar month (UTC)
    budget_gpu_s: int | None = None  # the same in seconds in slots
    budget_soft: float | None = None  # the share of a budget from which an alert fires
    receipts: bool = False  # of its requests, for GET /v1/governance/receipts
    may_load: bool = False  # its keys load and unload the models that they may use (/models/load)
    comfyui_workflows: bool = False  # its requests may bring workflows (/v1/comfyui/prompts)
    keep_texts: bool = False  # the history of requests keeps their prompts and answers
    configured: tuple[str, ...] = ()  # the fields that the configuration names: no command changes them


@dataclass(frozen=True)
class ModelDefinition:
    """One model: the common fields of the Runtime Admin API plus those of its backend.

    `options` are the backend's own fields (`llama_server_n_ctx`, `stub_tokens`, ...), validated against the
    declarations in `backends.catalogue`, with defaults. `origin` says where the files of a model come from
    that a load defined, or that was added; None of a configured one.
    """

    name: str
    backend: str
    model_path: str | None = None
    device: str = "auto"
    prompt_format: str = "generic"
    enabled: bool = False
    replicas: int = 1
    replica_max: int = 1
    scale_max: int | None = (
        None  # `max` of `replicas`: replicas follow the load, from `replicas` up to this; None: they do not
    )
    target_inflight: int = 1  # slots of a replica: requests that it processes at once
    load_timeout_s: float = 600.0  # without the time of a download
    on_demand: str = "reject"  # a request for the unloaded model: "reject" refuses it, "load" loads the model
    idle_unload_s: float | None = None  # unloaded after this time without a request; None: it stays
    pin: bool = False  # never unloaded to make room for another model
    locality: Locality = "fair"  # how far a cached prompt decides which request runs next, and where
    unload_timeout_s: float | None = None  # None: `limits.unload_timeout_s`
    model_sha256: Mapping[str, str] = field(default_factory=dict)  # of downloaded files, by name
    options: Mapping[str, Any] = field(default_factory=dict)
    origin: Mapping[str, str] | None = None
    registered: bool = False  # it was added, and is kept until it is removed


@dataclass(frozen=True)
class SignerKey:
    """A public key of a signer: `key` is the base64 of its 32 bytes (Ed25519).

    `not_before` (inclusive) and `not_after` (exclusive) are Unix times in seconds; None: no bound.
    """

    id: str
    key: str
    not_before: float | None = None
    not_after: float | None = None


@dataclass(frozen=True)
class Signer:
    """A person or program that approves operations with its own Ed25519 keys."""

    name: str
    public_keys: tuple[SignerKey, ...] = ()
    revoked: bool = False  # a signature of a revoked signer refuses the operation


@dataclass(frozen=True)
class GovernanceRule:
    """How many signers have to approve an operation, and in which way.

    `attested`: the holder of the shared key states the signers' names. `signed`: each signer signs with a key
    of its own. `signers` are those that may approve; without any: every name in the mode `attested`, every
    known signer in the mode `signed`.
    """

    mode: str = "attested"
    threshold: int = 1
    signers: tuple[str, ...] = ()


def default_rules() -> dict[str, GovernanceRule]:
    """The rules of the operations that the configuration does not name."""
    # proposals are signed
    return {
        operation: GovernanceRule("signed" if operation in PROPOSED_OPERATIONS else "attested")
        for operation in GOVERNED_OPERATIONS
    }


@dataclass(frozen=True)
class GovernanceSettings:
    """The governed lifecycle: whose approval loads, unloads, flushes and changes of access need.

    In the configuration each rule stands under the name of its operation, beside the other settings.
    """

    op_token_key_path: Path | None = None  # the shared key of opTokens: a file, or a folder of them
    admin: str = "open"  # or governed: /v1/admin changes nothing without a proposal
    models: str = "catalog_only"  # or allow: also models that match a pattern of `allow`
    allow: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # patterns by backend
    rules: Mapping[str, GovernanceRule] = field(default_factory=default_rules)  # by operation
    signers: Mapping[str, Signer] = field(default_factory=dict)
    proposal_ttl_s: int = 86_400
    max_attempts_per_minute: int = 60  # lifecycle requests of a tenant, over all API processes
    cooldown_s: float = 0.0  # after a load or unload of a model, before a caller may load it again


@dataclass(frozen=True)
class Settings:
    """All settings."""

    data_dir: Path = ROOT / DATA_DIR
    runtimes_dir: Path = ROOT / DATA_DIR / RUNTIMES_DIR
    log_level: str = "info"  # debug, info, warning or error
    log_format: str = "text"  # or json: one object a line
    models_preset: Path | None = None  # an INI file with models, of the API's host; None: there is none
    model_base_path: Path | None = (
        None  # where relative paths of models start, and which no model's path leaves
    )
    runner_id: str | None = None  # of the platform in GET /v1/capabilities; None: one is made once
    redis: RedisSettings = field(default_factory=RedisSettings)
    api: ApiSettings = field(default_factory=ApiSettings)
    metrics: MetricsSettings = field(default_factory=MetricsSettings)
    ui: UiSettings = field(default_factory=UiSettings)
    oidc: OidcSettings = field(default_factory=OidcSettings)
    flower: FlowerSettings = field(default_factory=FlowerSettings)
    worker: WorkerSettings = field(default_factory=WorkerSettings)
    queue: QueueSettings = field(default_factory=QueueSettings)
    vllm: VllmSettings = field(default_factory=VllmSettings)
    hub: HubSettings = field(default_factory=HubSettings)
    on_demand: OnDemandSettings = field(default_factory=OnDemandSettings)
    scaling: ScalingSettings = field(default_factory=ScalingSettings)
    limits: LimitSettings = field(default_factory=LimitSettings)
    lease: LeaseSettings = field(default_factory=LeaseSettings)
    restart: RestartSettings = field(default_factory=RestartSettings)
    history: HistorySettings = field(default_factory=HistorySettings)
    responses: ResponseSettings = field(default_factory=ResponseSettings)
    streams: StreamSettings = field(default_factory=StreamSettings)
    state: StateSettings = field(default_factory=StateSettings)
    files: FileSettings = field(default_factory=FileSettings)
    tools: ToolSettings = field(default_factory=ToolSettings)
    batches: BatchSettings = field(default_factory=BatchSettings)
    webhooks: WebhookSettings = field(default_factory=WebhookSettings)
    tenancy: TenancySettings = field(default_factory=TenancySettings)
    governance: GovernanceSettings = field(default_factory=GovernanceSettings)
    tenants: Mapping[str, Tenant] = field(default_factory=dict)
    models: Mapping[str, ModelDefinition] = field(default_factory=dict)
