"""Every setting of the platform, as frozen dataclasses with the shipped defaults.

`config.load.load_settings` fills them from `settings.json`, `local.json` and the environment; nothing else
in the project reads a configuration file. Durations carry their unit in the name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
"""The project's root: relative paths in the settings are resolved against it."""

PRIORITIES = ("high", "normal", "low")
"""The priority priorities, the most urgent first. `X-Priority` names one of them."""


@dataclass(frozen=True)
class RedisSettings:
    """Where the shared truth lives. One server holds the ledger, the event logs and Celery's queues."""

    url: str = "redis://127.0.0.1:6379/0"
    prefix: str = "stoker"  # first part of each key; two platforms may share one server under two prefixes


@dataclass(frozen=True)
class ApiSettings:
    """The HTTP front (gunicorn, threads)."""

    host: str = "127.0.0.1"
    port: int = 8080
    processes: int = 1
    threads: int = 256  # each open stream holds one; admission is bounded below it
    keep_alive_s: float = 15.0  # silence on a stream before a `: ka` comment
    max_body_bytes: int = 8 * 1024 * 1024
    graceful_timeout_s: int = 10


@dataclass(frozen=True)
class FlowerSettings:
    """The task monitor; never published, always behind a password."""

    host: str = "127.0.0.1"
    port: int = 5555


@dataclass(frozen=True)
class WorkerSettings:
    """One worker per GPU."""

    threads: int = 128  # requests in flight on one worker, plus a reserve for load and unload
    task_events: bool = True  # what Flower shows; costs CPU per task (see docs/benchmarks.md)
    drain_timeout_s: float = 30.0  # how long running requests may finish after SIGTERM


@dataclass(frozen=True)
class QueueSettings:
    """What may wait."""

    max_depth: int = 64  # jobs waiting per model; over it: 503 queue_full
    max_depth_per_tenant: int = 48  # of these, by one tenant
    timeout_ms: int = 120_000  # longest wait in line; after it: 503 queue_timeout


@dataclass(frozen=True)
class LimitSettings:
    """Bounds on one request."""

    request_timeout_s: float = 600.0  # from its first turn to its end
    first_event_timeout_s: float = 120.0  # an engine that says nothing for so long is stalled
    idle_timeout_s: float = 60.0  # the same between two events
    probe_timeout_s: float = (
        30.0  # after it: an engine that does not answer a question of one token is killed
    )
    unload_timeout_s: float = 600.0  # how long an unload lets requests finish; after it they are ended
    max_log_bytes: int = 4 * 1024 * 1024  # what one response may say


@dataclass(frozen=True)
class LeaseSettings:
    """How fast death is noticed. The promise: lease + reap + 1 s."""

    lease_ms: int = 5_000
    beat_ms: int = 1_000
    reap_ms: int = 500


@dataclass(frozen=True)
class ResponseSettings:
    """Finished responses."""

    retention_s: int = 3_600  # how long a stored response can be retrieved and replayed


@dataclass(frozen=True)
class Tenant:
    """Who asks. Keys are kept as SHA-256 hex digests only.

    `weight` is the tenant's share when several wait; `max_priority` the most urgent priority it may ask for.
    """

    name: str
    weight: float = 1.0
    max_priority: str = "high"
    api_keys_sha256: tuple[str, ...] = ()
    admin: bool = False


@dataclass(frozen=True)
class ModelDefinition:
    """One configured model: the common fields of the Runtime Admin API plus those of its backend.

    `options` holds the backend's own fields (`llama_server_n_ctx`, `stub_tokens`, ...), validated against the
    tables in `backends.catalogue`, defaults filled in.
    """

    name: str
    backend: str
    model_path: str | None = None
    device: str = "auto"
    prompt_format: str = "generic"
    enabled: bool = False
    replicas: int = 1
    replica_max: int = 1
    target_inflight: int = 1  # requests one replica works on at once: its slots
    load_timeout_s: float = 600.0
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Settings:
    """All of it."""

    data_dir: Path = ROOT / ".stoker"
    runtimes_dir: Path = ROOT / ".stoker" / "runtimes"  # `<data_dir>/runtimes` unless set
    log_level: str = "info"  # debug, info, warning or error
    log_format: str = "text"  # or json: one object a line
    redis: RedisSettings = field(default_factory=RedisSettings)
    api: ApiSettings = field(default_factory=ApiSettings)
    flower: FlowerSettings = field(default_factory=FlowerSettings)
    worker: WorkerSettings = field(default_factory=WorkerSettings)
    queue: QueueSettings = field(default_factory=QueueSettings)
    limits: LimitSettings = field(default_factory=LimitSettings)
    lease: LeaseSettings = field(default_factory=LeaseSettings)
    responses: ResponseSettings = field(default_factory=ResponseSettings)
    tenants: Mapping[str, Tenant] = field(default_factory=dict)
    models: Mapping[str, ModelDefinition] = field(default_factory=dict)
