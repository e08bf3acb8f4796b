"""Every key in Redis: its name, its type, what it holds, who writes it, how long it stays.

The scripts build these names themselves (`lua/include/base.lua`); this table is for people, and
`tests/scheduler/test_keys.py` holds the two together. All names begin with `{<prefix>}:`, whose hash tag
keeps them in one slot. Celery's own queues lie beside them under `<prefix>.celery:`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Key:
    """One kind of key; what varies in its name is in <>. Writers are scripts, or Python files."""

    name: str
    type: str
    holds: str
    writers: str
    stays: str

    def matches(self, name: str) -> bool:
        """True when a key of that name (behind the prefix) is of this kind."""
        parts = re.split(r"(<\w+>)", self.name)
        pattern = "".join("[^ ]+" if part.startswith("<") else re.escape(part) for part in parts)
        return re.fullmatch(pattern, name) is not None


EMPTY = "until it is empty"
ENDED = "until some time after the end: retention, or 60 s when not stored"
FOREVER = "for good"

KEYS = (
    # ---- a request
    Key(
        "job:<id>",
        "hash",
        "the truth about a request: status, tenant, weight, model, priority, dialect, generation, echo, "
        "subscribers, store, retention_s, cost, max_wait_us, attempts, cancel, last (number of its last event), bytes (said); "
        "run_by_us, once it was claimed: until when it may run, also when it is tried again; "
        "while somebody has it: replica, worker, fence, call; and admitted, dispatched, claimed, ended (_us)",
        "admit append subscribe cancel claim delete include/dispatch include/requeue include/terminal",
        ENDED,
    ),
    Key(
        "log:<id>",
        "stream",
        "what was said: entry n has the id n-0 and the event as its field e; the last one is terminal",
        "delete include/log include/terminal",
        ENDED,
    ),
    Key(
        "deadlines",
        "zset",
        "jobs that have not ended, by the time at which they will be",
        "admit claim expire include/requeue include/terminal",
        EMPTY,
    ),
    Key(
        "idempotency:<tenant>:<key>",
        "hash",
        "the id of the first response to this Idempotency-Key, and the hash of its body",
        "admit",
        "900 s from the admission",
    ),
    # ---- the line
    Key(
        "queue:<model>:<priority>:<tenant>",
        "zset",
        "a tenant's waiting jobs, by admission",
        "include/queue",
        EMPTY,
    ),
    Key(
        "fair_share:<model>:<priority>",
        "zset",
        "the tenants with a line there, by what they were served (tokens divided by weight)",
        "include/queue",
        EMPTY,
    ),
    Key("waiting:<model>", "zset", "all waiting jobs of a model, by admission", "include/queue", EMPTY),
    Key(
        "skipped:<model>",
        "hash",
        "how often each waiting priority was passed over since its last turn",
        "include/queue",
        EMPTY,
    ),
    Key(
        "served:<model>",
        "hash",
        "what each tenant was served; @floor is the level at which who was idle starts",
        "include/queue",
        FOREVER,
    ),
    # ---- what runs
    Key(
        "slots:<replica>",
        "set",
        "the jobs that hold its slots: dispatched or running",
        "include/dispatch include/requeue include/replica include/terminal",
        EMPTY,
    ),
    Key(
        "leases",
        "zset",
        "dispatched and running jobs, by the time at which they count as lost",
        "heartbeat claim expire include/dispatch include/requeue include/terminal",
        EMPTY,
    ),
    Key("fence", "string", "the last fence or incarnation given out", "include/base", FOREVER),
    # ---- workers
    Key(
        "workers",
        "zset",
        "registered workers, by the time at which they count as silent",
        "heartbeat expire register include/replica",
        EMPTY,
    ),
    Key(
        "worker:<worker>",
        "hash",
        "incarnation (missing: given up), wake_up_list and bell, device, description, since_us, draining; "
        "memory_id, free_mib and memory (JSON), as it measured them",
        "deregister register report_memory include/replica",
        "until it deregisters",
    ),
    Key(
        "worker_replicas:<worker>",
        "set",
        "the replicas assigned to a worker",
        "include/assign include/replica",
        EMPTY,
    ),
    # ---- models
    Key(
        "model:<model>",
        "hash",
        "state, operation (the latest), wanted (replicas; 0: unloaded by hand), replicas (of the load), "
        "override (JSON), reserved (memory, JSON), variant (fingerprint of what is "
        "loaded), code and last_error, lost (replicas), wait_ms (average), "
        "rotation, load_ms and unload_ms (averages), artifact_mib, observed_mib, observed_replicas, "
        "observed_variant, loaded_us, changed_us",
        "report_artifacts begin_load begin_unload report_load_error claim replace_lost replica_up "
        "reset_to_configuration include/dispatch include/model include/replica",
        FOREVER,
    ),
    Key(
        "replicas:<model>",
        "set",
        "the replicas of a model, in any state",
        "include/assign include/replica",
        EMPTY,
    ),
    Key(
        "ready:<model>",
        "set",
        "those of them that take jobs",
        "begin_unload deregister replica_up include/replica",
        EMPTY,
    ),
    Key(
        "replica:<replica>",
        "hash",
        "state, model, worker, operation, progress, slots, pid (or empty: elsewhere), lease_us, call, "
        "override, need_mib (promised to it until it is up), memory_mib (seen), up_us",
        "begin_unload replica_progress replica_starting replica_up include/assign include/replica",
        "until it is down",
    ),
    Key(
        "evicting",
        "zset",
        "models whose load waits until another one is unloaded, by the time at which it is given up",
        "begin_load resume_pending include/model",
        EMPTY,
    ),
    Key(
        "operation:<id>",
        "hash",
        "a load or unload: kind, model, status, stage, progress, replicas, evicts, code and error, "
        "memory_mib, expected_ms, created_us, began_us (by the workers), finished_us",
        "begin_load begin_unload replica_progress replica_starting replica_up include/assign include/model",
        "a day",
    ),
    Key(
        "changes",
        "stream",
        "each change of a model's state: model, was, state, at_us, operation, code, message",
        "include/model",
        "the latest 1,000 or so",
    ),
    # ---- the house
    Key("expired_at", "string", "when `expire` ran last, to notice that Redis was away", "expire", FOREVER),
    Key("probe", "string", "nothing: it is written to see that writing works", "scheduler/ledger.py", "60 s"),
    Key("audit", "stream", "who changed what, as a chain of hashes", "governance/audit.py", FOREVER),
    Key("subscriber:<name>", "channel", "copies of events for one API process", "include/log", "is not kept"),
    Key(
        "notify:<worker>",
        "channel",
        "cancels for what a worker runs; its heartbeat repeats them",
        "cancel delete expire",
        "is not kept",
    ),
)


def find(name: str) -> Key | None:
    """The kind of a key by its name behind the prefix; None when there is no such kind."""
    return next((key for key in KEYS if key.matches(name)), None)
