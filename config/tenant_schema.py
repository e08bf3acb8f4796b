"""The schemas of tenants: the section `tenancy`, and one of `tenants`."""

from __future__ import annotations

from config.fields import (
    MAX_INT,
    Section,
    StrictField,
    choice,
    flag,
    integer,
    is_digest,
    networks,
    number,
    rate,
)
from config.settings import PRIORITIES

TENANT_NAME = r"[a-z0-9][a-z0-9_-]{0,63}"


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
        lambda value: isinstance(value, list) and all(map(is_digest, value)),
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
    budget_tokens = integer(1, 2**53 - 1, nullable=True)
    budget_gpu_s = integer(1, MAX_INT, nullable=True)
    budget_soft = number(0.01, 1, nullable=True)
    receipts = flag()
    may_load = flag()
    comfyui_workflows = flag()
    keep_texts = flag()
