"""The table of all Redis keys: name, type, content, writers, lifetime.

The scripts build the names themselves (`lua/include/base.lua`); this table is documentation, and
`tests/store/test_redis_keys.py` checks it against the scripts. All names begin with `{<prefix>}:`; the
hash tag puts them into one slot of a Redis cluster. Celery's own queues have the prefix `{<prefix>}.celery:`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, lru_cache


@dataclass(frozen=True, slots=True)
class RedisKey:
    """One kind of key; the variable parts of its name are in <>. `writers` are scripts or Python files."""

    name: str
    type: str
    content: str
    writers: str
    lifetime: str

    def matches(self, name: str) -> bool:
        """Return whether a key of that name (without the prefix) is of this kind."""
        return _pattern_of(self.name).fullmatch(name) is not None


@cache
def _pattern_of(name: str) -> re.Pattern[str]:
    parts = re.split(r"(<\w+>)", name)
    return re.compile("".join("[^ ]+" if part.startswith("<") else re.escape(part) for part in parts))


EMPTY = "until it is empty"
ENDED = "until `expire` deletes it: `responses.retention_s` after its end, or 60 s when it is not stored"
FOREVER = "unlimited"

KEYS = (
    # ---- jobs
    RedisKey(
        "job:<id>",
        "hash",
        "the state of a job: status, tenant, weight, model, priority, dialect, generation, echo, "
        "subscribers, store, retention_s, cost, max_wait_us, max_run_us, attempts (dispatches), cancel; "
        "token_window_us: of the token limit; counted: it is in `running`; receipt: SHA-256 of the request's "
        "body, of a tenant with receipts; "
        "run_by_us: deadline of the run, set by the "
        "first dispatch, or at the admission by the request's own time limit; while it runs: replica, "
        "slots (of the replica), worker, fence; and the times "
        "admitted_us, claimed_us (at the dispatch), ended_us",
        "admit subscribe delete include/bytes include/conversations include/dispatch include/requeue "
        "include/terminal",
        ENDED,
    ),
    RedisKey(
        "log:<id>",
        "stream",
        "the event log: entry n has the id n-0 and the event in its field e; the last is the terminal event",
        "include/bytes include/log include/sections",
        ENDED,
    ),
    RedisKey(
        "deadlines",
        "zset",
        "all jobs, by the time at which `expire` ends them, or deletes them after their retention",
        "admit include/bytes include/conversations include/dispatch include/requeue include/terminal",
        EMPTY,
    ),
    RedisKey(
        "bytes",
        "hash",
        "bytes of jobs with their logs, by tenant, and @all: of small ones from their end, of large ones "
        "from their admission; changes by less than 64 KiB count when the entry in `ended` is counted",
        "include/bytes",
        FOREVER,
    ),
    # ---- usage and metrics
    RedisKey(
        "ended",
        "stream",
        "ended jobs that are not counted yet, one entry each, with a line in its field e: tenant, model, "
        "priority, status, code, finish reason, dispatches, time in the queue and time of the run (us), time "
        "to the first output (ms), bytes to count, usage (JSON); - for what is missing",
        "include/job_end include/terminal",
        "an entry until `expire` counts it, half a second",
    ),
    RedisKey(
        "usage:<day>",
        "hash",
        "by tenant and model (`<tenant> <model>`) of a day (since 1970-01-01, UTC): requests, those that "
        "succeeded, input, output and cached tokens, time in queues and of runs (us)",
        "include/job_end",
        "400 days from the last change",
    ),
    RedisKey(
        "waits:<minute>",
        "hash",
        "how long the jobs waited that were counted in a minute (since 1970-01-01): their sum (us), and "
        "how many in each bucket (scheduler/waits.py)",
        "include/job_end",
        "10 minutes from the last change",
    ),
    RedisKey(
        "counters",
        "hash",
        "the counters and histograms of /metrics: `<kind> <label> ...` and a number; cache_hits <model>: "
        "cached and all input tokens (what is older counts less), and the time of the sums (us)",
        "include/counters include/job_end change_access",
        FOREVER,
    ),
    RedisKey(
        "counted_tenants",
        "set",
        "the tenants that have a label of their own in `counters`, at most 200; the others are `other`",
        "include/tenant_label change_access",
        "until a removed tenant's name is free again",
    ),
    RedisKey(
        "refusals:<minute>",
        "hash",
        "by tenant and code (`<tenant> <code>`): its requests that were answered with 429 or 503 in a minute "
        "(since 1970-01-01), at most 2,000 fields",
        "report_api_process",
        "6 minutes from the last change",
    ),
    RedisKey(
        "refusals_by_part:<part>",
        "hash",
        "the same by five minutes (since 1970-01-01)",
        "report_api_process",
        "65 minutes from the last change",
    ),
    RedisKey(
        "api_process:<process>",
        "hash",
        "gauges (JSON) of an API process, and the number of the report that they came with",
        "report_api_process",
        "60 s from its last report",
    ),
    RedisKey(
        "api_processes",
        "zset",
        "the API processes, by the time of their last reports",
        "report_api_process",
        "60 s from the last report of each",
    ),
    RedisKey(
        "recent_metrics",
        "hash",
        "samples of the metrics, one each 10 s: number of the 10 s modulo 360 -> JSON; turn (number of the "
        "10 s of the last one), totals (JSON: what was counted until it), models (JSON: their rates at it)",
        "begin_sample write_sample",
        "2 hours from the last sample",
    ),
    # ---- webhooks (docs/decisions/0023-webhooks.md)
    RedisKey(
        "webhooks:<list>",
        "zset",
        "tenant:<tenant>: its background responses that are followed, by the time (ms) of the next look; "
        "target:<target>: those whose events are sent there, by the time (ms) of the next attempt",
        "api/webhooks/store.py",
        EMPTY,
    ),
    RedisKey(
        "webhook_entries:<list>",
        "hash",
        "of each response in that list: when it was entered, its event, its end, the attempts (JSON)",
        "api/webhooks/store.py",
        EMPTY,
    ),
    RedisKey(
        "webhook_sender",
        "string",
        "the API process that sends webhooks",
        "api/webhooks/store.py",
        "10 s from the last turn",
    ),
    RedisKey(
        "idempotency:<tenant>:<key>",
        "hash",
        "id of the first response to this Idempotency-Key, and the hash of the request body",
        "admit",
        "900 s from the admission",
    ),
    # ---- batches
    RedisKey(
        "batch:<id>",
        "hash",
        "a batch: tenant, kind (openai or messages), record (JSON: what the client asked for), progress "
        "(JSON: state, counts and times, which the runner writes), created_us, cancel_us (a cancel was asked "
        "for)",
        "cancel_batch create_batch delete_batch update_batch",
        "31 days from its creation",
    ),
    RedisKey(
        "batches",
        "zset",
        "the batches that have not ended, by the time of their creation",
        "create_batch delete_batch update_batch",
        EMPTY,
    ),
    RedisKey(
        "tenant_batches:<tenant>",
        "zset",
        "all batches of a tenant, by the time of their creation",
        "create_batch delete_batch",
        "31 days from the last creation",
    ),
    RedisKey(
        "batch_runner",
        "string",
        "the fence of the API process that runs the batches",
        "hold_batches",
        "its lease: 10 s from its last call",
    ),
    # ---- conversations (docs/decisions/0021-conversations.md)
    RedisKey(
        "conversation:<id>",
        "hash",
        "tenant, created_us, expires_us, metadata (JSON), next (number of the next item), items (how many), "
        "bytes; i:<item>: the number of an item, a space, its JSON; while a response of it runs: turn (its "
        "id), turn_us (the time of its begin), turn_items (JSON: its input), turn_bytes",
        "begin_conversation_turn delete_conversation write_conversation include/conversations",
        "`responses.conversation_retention_s` from the last change",
    ),
    RedisKey(
        "conversations",
        "zset",
        "all conversations, by the time at which they end",
        "include/conversations",
        EMPTY,
    ),
    RedisKey(
        "tenant_conversations:<tenant>",
        "set",
        "the conversations of a tenant",
        "write_conversation include/conversations",
        EMPTY,
    ),
    RedisKey(
        "conversation_bytes",
        "hash",
        "bytes of the conversations, by tenant, and @all",
        "include/conversations",
        FOREVER,
    ),
    RedisKey(
        "conversation_turns",
        "zset",
        "responses of conversations that are not settled (`<conversation> <response>`), by the time of the "
        "next look",
        "begin_conversation_turn end_conversation_turn open_conversation_turns include/conversations",
        EMPTY,
    ),
    # ---- queues
    RedisKey(
        "queue:<model>:<priority>:<tenant>",
        "zset",
        "a tenant's waiting jobs, by admission time",
        "include/queue",
        EMPTY,
    ),
    RedisKey(
        "fair_share:<model>:<priority>",
        "zset",
        "the tenants with waiting jobs of that priority, by tokens served, divided by weight",
        "include/queue include/usage",
        EMPTY,
    ),
    RedisKey(
        "waiting:<model>", "zset", "all waiting jobs of a model, by admission time", "include/queue", EMPTY
    ),
    RedisKey(
        "served:<model>",
        "hash",
        "by tenant: the tokens that it was served, divided by its weight; with `:running` its running jobs, "
        "with `:limits` its weight and the most jobs that it may run. Of all: @high, @normal and @low, how "
        "often a priority with waiting jobs was skipped since a job of it was dispatched; @floor, the value "
        "at which an idle tenant starts; @wait_ms, the average wait; @run_ms, how long jobs held their slots "
        "while others waited, on average; @slots of the replicas that are up; @running; @reserve, the "
        "setting `queue.reserve_one_in`",
        "include/dynamic_models include/usage",
        "unlimited; of a dynamic model a day from its unload",
    ),
    RedisKey(
        "held:<tenant>",
        "set",
        "the models at which its jobs wait since it runs as many jobs as its limit allows",
        "include/slot_limits",
        "until one of its jobs ends",
    ),
    # ---- limits of tenants
    RedisKey(
        "rate:<tenant>",
        "zset",
        "the jobs that were admitted within the window of its rate limit, by time: a limit of up to 2,000",
        "include/limits",
        "the window",
    ),
    RedisKey(
        "rate_tat:<tenant>",
        "string",
        "of a larger limit: the time (us) at which its burst is free again, by GCRA",
        "include/limits",
        "until that time",
    ),
    RedisKey(
        "tokens:<tenant>",
        "hash",
        "its tokens by sixtieth of the window of its limit: estimates, and true numbers from a job's end on",
        "include/limits include/token_parts",
        "the window",
    ),
    RedisKey(
        "running",
        "hash",
        "the running jobs, of all models, of tenants with a bound on them",
        "include/slot_limits",
        FOREVER,
    ),
    # ---- running jobs
    RedisKey(
        "slots:<replica>",
        "hash",
        "the jobs that run on it, each in a slot: `<fence> <subscribers>`, after `cancel ` for a job to stop",
        "subscribe include/dispatch include/terminal include/deferred_work",
        EMPTY,
    ),
    RedisKey(
        "claims:<incarnation>",
        "list",
        "the claim messages that a worker has not taken yet, the oldest first",
        "include/dispatch include/replica",
        "until it is empty, or the incarnation ends",
    ),
    RedisKey("cancelled:<worker>", "set", "its running jobs that it has to stop", "include/terminal", EMPTY),
    RedisKey(
        "leases",
        "zset",
        "running jobs, by the time at which they count as lost",
        "heartbeat expire include/dispatch include/requeue include/terminal",
        EMPTY,
    ),
    RedisKey(
        "unfinished",
        "zset",
        "work that a call left for `expire`, by time, as JSON arrays: jobs of a replica that is gone, "
        "waiting jobs of a model that will not be served, those of a tenant that an operator cancels, models "
        "with jobs to dispatch",
        "expire include/dispatch",
        EMPTY,
    ),
    RedisKey("fence", "string", "the latest fencing token or incarnation", "include/base", FOREVER),
    # ---- workers
    RedisKey(
        "workers",
        "zset",
        "registered workers, by the time at which their lease ends",
        "heartbeat register include/replica",
        EMPTY,
    ),
    RedisKey(
        "worker:<worker>",
        "hash",
        "incarnation (missing: the worker was removed), device, description, since_us, draining (shutdown or "
        "operator; missing: it takes jobs); memory_id, free_mib and memory (JSON), as it reported them",
        "deregister register report_memory include/drain include/replica",
        "until it deregisters",
    ),
    RedisKey(
        "operator_drains",
        "hash",
        "the workers that an operator drains, at most 1,000: name -> JSON of the actor and the time (at_us)",
        "begin_drain end_drain",
        "until the drain is ended",
    ),
    RedisKey(
        "lost_workers",
        "zset",
        "the workers that were removed since they sent no heartbeat, by the time of that: the latest 100",
        "expire register reset_to_configuration",
        "until they register again, or the start of the whole platform",
    ),
    RedisKey(
        "worker_replicas:<worker>",
        "set",
        "the replicas assigned to a worker",
        "include/placement include/replica",
        EMPTY,
    ),
    # ---- models
    RedisKey(
        "model:<model>",
        "hash",
        "state, operation (the latest), wanted (replicas; 0: unloaded by an operator), replicas (of the "
        "load), "
        "override (JSON), reserved (MiB by device memory for a load that waits, JSON), variant (fingerprint "
        "of the loaded configuration), code and last_error, lost (replicas), crashed (replicas to be started "
        "again), restart_us (time of the restart that is due), "
        "last_load (what the last load by request asked for, JSON) and last_load_us, "
        "rotation, load_ms and unload_ms (averages), artifact_mib, observed_mib, observed_replicas, "
        "observed_variant, loaded_us, context (tokens of one request, or empty), changed_us, "
        "label (in `counters`, if it is not the name)",
        "report_artifacts begin_load begin_unload cancel_restore report_load_error replace_lost "
        "restore_replicas replica_up reset_to_configuration include/dispatch include/dynamic_models "
        "include/model include/replica",
        "unlimited; of a dynamic model a day from its unload",
    ),
    RedisKey(
        "dynamic_models",
        "hash",
        "the models that the configuration does not name: name -> JSON of the definition, the origin and the "
        "MiB of the files",
        "include/dynamic_models",
        "from their load to the end of their unload, or the start of the whole platform",
    ),
    RedisKey(
        "dynamic_models_version",
        "string",
        "another text after each change of these: API processes and workers ask for it, and read all again",
        "include/dynamic_models",
        FOREVER,
    ),
    RedisKey(
        "cooldown:<model>",
        "hash",
        "last_us (time of the last load or unload by a caller), pause_us (before the next load)",
        "record_change reset_to_configuration",
        "twice the pause",
    ),
    RedisKey(
        "labelled_models",
        "set",
        "the dynamic models that have labels of their own in `counters`, at most 200",
        "include/dynamic_models",
        FOREVER,
    ),
    RedisKey(
        "model_files:<model>",
        "hash",
        "host -> digest of the names, sizes and times of change of the model's files there",
        "report_files include/dynamic_models",
        "unlimited; of a dynamic model until its unload",
    ),
    RedisKey(
        "crashes:<model>",
        "zset",
        "the replicas that crashed, by time; the next crash removes those before the window of `restart`",
        "include/model include/replica",
        "until an operator loads or unloads the model",
    ),
    RedisKey(
        "suspects:<model>",
        "zset",
        "the tenants of which alone a request ran in two crashes of the model, by time; within the window "
        "of `restart` their requests are not tried again after a crash",
        "include/model include/requeue",
        "until an operator loads or unloads the model",
    ),
    RedisKey(
        "replicas:<model>",
        "set",
        "the replicas of a model, in any state",
        "include/placement include/replica",
        EMPTY,
    ),
    RedisKey(
        "loading_replicas",
        "set",
        "the replicas whose engines have not come up: memory is promised to them until they do or end",
        "replica_up include/placement include/replica",
        EMPTY,
    ),
    RedisKey(
        "ready:<model>",
        "zset",
        "those of them that accept jobs, by the share of their slots that is taken",
        "begin_unload replica_up include/dispatch include/drain include/replica",
        EMPTY,
    ),
    RedisKey(
        "replica:<replica>",
        "hash",
        "state, model, worker, incarnation (of the worker), operation, progress, slots, pid (empty: no local "
        "process), lease_us, call, "
        "override, need_mib (promised until it is up), memory_mib (observed), up_us; engine: what it reports "
        "about itself (JSON: version, quantization, context, kv_cache_mib, kv_cache_use); flushes: the "
        "operations "
        "of those that its worker has not reported, separated by spaces",
        "begin_flush begin_unload replica_flushed replica_progress replica_starting replica_up "
        "report_engines "
        "include/placement include/replica",
        "until it is down",
    ),
    RedisKey(
        "stalled_replicas",
        "set",
        "the replicas whose engines or workers make no progress at the moment",
        "report_engines include/replica",
        EMPTY,
    ),
    RedisKey(
        "engine_log:<model>",
        "stream",
        "the latest 2,000 lines that the engines of a model printed, of at most 1 KB: r (replica), "
        "w (worker), o (operation that started it), t (text), b (bytes that were left out in its place)",
        "append_engine_log",
        "a day from the last line; the 100 logs with the latest lines",
    ),
    RedisKey(
        "engine_logs",
        "zset",
        "the models that have a log, by the time of its last lines",
        "append_engine_log",
        "a day from the last line",
    ),
    RedisKey(
        "engine_log_call:<id>",
        "string",
        "a call of `append_engine_log`, which may be repeated",
        "append_engine_log",
        "60 s",
    ),
    RedisKey(
        "evicting",
        "zset",
        "models whose load waits for the unload of another model, by the time at which the load fails",
        "begin_load resume_pending include/model",
        EMPTY,
    ),
    RedisKey(
        "operation:<id>",
        "hash",
        "a load, unload or flush: kind, model, status, stage, progress, replicas, evicts, code and error, "
        "memory_mib, gpu_memory_mib, definition (digest), expected_ms, created_us, began_us (on the "
        "workers), finished_us; progress_sum (over its replicas), up (replicas); restores (1: a load of the "
        "missing replicas of a loaded model); authority (JSON: how the "
        "caller was authorised); of a flush: scope (JSON), subject (the scope in words), epochs_version, "
        "reported (replicas), entries and memory_kib (removed; empty: not counted), reason",
        "begin_flush begin_load begin_unload flush_due replica_progress replica_starting replica_up "
        "restore_replicas include/placement include/flush include/model include/replica",
        "a day",
    ),
    RedisKey(
        "operations",
        "zset",
        "the operations by the time of their beginning, at most 10,000; some of them may have expired",
        "include/model",
        "two days from the last beginning",
    ),
    RedisKey(
        "loads:<model>",
        "stream",
        "the loads that ended well, for receipts: at_us, operation, authority (JSON), definition (digest)",
        "replica_up",
        "the latest 100; 400 days from the last one",
    ),
    RedisKey(
        "changes",
        "stream",
        "each change of a model's state: model, was, state, at_us, operation, code, message; and of a "
        "proposal: proposal, kind, was, status, at_us, operation, message, signatures, threshold",
        "include/change_feed",
        "the latest 1,000 or so",
    ),
    # ---- proposals
    RedisKey(
        "op_attempts:<tenant>",
        "zset",
        "its attempts at governed operations of the last minute, by time (us)",
        "count_attempt",
        "a minute",
    ),
    RedisKey(
        "proposal:<id>",
        "hash",
        "a proposal: status, operation (model-load, ...), body (canonical JSON), plan (JSON), plan_digest, "
        "tenant and key of the proposer, threshold, signers (JSON), runner, created_us, expires_us, "
        "approved_us, ended_us, signatures (how many), `sig <signer>` (JSON of a signature: key, value, at), "
        "started_by and operation_id (that it started; '' if there was nothing to begin), reason, history_s",
        "create_proposal sign_proposal include/proposal",
        "30 days after its end",
    ),
    RedisKey(
        "proposals",
        "zset",
        "all proposals by the time of their creation, at most 10,000",
        "create_proposal expire_proposals",
        "an entry as long as its proposal",
    ),
    RedisKey(
        "open_proposals",
        "zset",
        "the open and the approved proposals, by the end of their time",
        "create_proposal include/proposal",
        EMPTY,
    ),
    RedisKey(
        "approved_proposals",
        "zset",
        "the approved proposals that have not been started, by the time of their approval",
        "include/proposal",
        EMPTY,
    ),
    RedisKey(
        "proposals_of:<tenant>",
        "set",
        "the open and the approved proposals of a tenant",
        "create_proposal include/proposal",
        EMPTY,
    ),
    # ---- the platform
    RedisKey(
        "expired_at",
        "string",
        "time of the last run of `expire`: processes take turns, and a gap shows that Redis was down",
        "expire",
        FOREVER,
    ),
    RedisKey(
        "leases_extended_to",
        "string",
        "no lease ends before this time, since Redis was down until shortly before",
        "expire",
        FOREVER,
    ),
    RedisKey(
        "recovery_looked_at",
        "string",
        "time at which a worker last looked for models and loads to recover; missing: look at once",
        "recovery_due include/model",
        FOREVER,
    ),
    RedisKey(
        "runner_id",
        "string",
        "the id of the platform in its capabilities, unless it is configured",
        "fleet/fleet_state.py",
        FOREVER,
    ),
    RedisKey("probe", "string", "written to check that Redis accepts writes", "scheduler/ledger.py", "60 s"),
    RedisKey(
        "cache_secret",
        "string",
        "the secret of cache namespaces and of compaction items, which the first process to read it makes",
        "read_epochs",
        FOREVER,
    ),
    RedisKey(
        "cache_epochs",
        "hash",
        "the epochs of the cache namespaces: all, model <model>, tenant <tenant>, tag <tenant> <tag>; "
        "@version grows whenever one of them does. A flush with 10,000 of them replaces all by that of all",
        "begin_flush",
        FOREVER,
    ),
    RedisKey(
        "epoch_readers",
        "hash",
        "the API processes that read these epochs, by the names of their subscribers: the version in use, "
        "and "
        "the time (us) of the last reading",
        "read_epochs",
        "until the process ends, or another one starts a minute after its last reading",
    ),
    RedisKey(
        "open_flushes",
        "set",
        "the operations of flushes under way",
        "begin_flush include/flush",
        EMPTY,
    ),
    RedisKey(
        "tenants",
        "hash",
        "tenants that commands made or changed: name -> JSON of their fields, created_at and removed_at (the "
        "name of a removed tenant stays taken until its last response has expired)",
        "change_access",
        "until they are removed",
    ),
    RedisKey(
        "api_keys",
        "hash",
        "API keys that commands made: SHA-256 digest -> JSON: id, tenant, scopes, models, expires_at, "
        "created_at, label, hint (the last characters)",
        "change_access",
        "until they are revoked",
    ),
    RedisKey(
        "access_version",
        "string",
        "another text after each change of these two: the API processes ask for it, and read both again",
        "change_access",
        FOREVER,
    ),
    RedisKey(
        "keys_used",
        "hash",
        "key id -> Unix time (s) of its last use; each API process writes those of the last seconds at once",
        "api/access/access_store.py",
        "until the keys are revoked",
    ),
    # ---- sessions of the UI
    RedisKey(
        "session:<digest>",
        "hash",
        "a session, by the SHA-256 of its token: key (digest of the API key), began_us, used_us, "
        "admin_used_us (last use of its admin part; missing: it has none)",
        "include/session begin_session use_session",
        "12 hours from its last use, until its end",
    ),
    RedisKey(
        "key_sessions:<key>",
        "zset",
        "the sessions of an API key (its digest), by the time of their last uses, at most 20",
        "include/session",
        "12 hours from the last use of one of them",
    ),
    RedisKey(
        "sign_in_link:<digest>",
        "hash",
        "a link that signs in once, by the SHA-256 of its token: key (digest of the API key), ends_us",
        "begin_session make_sign_in_link",
        "5 minutes, until it is used or the key gets another",
    ),
    RedisKey(
        "latest_link:<key>",
        "string",
        "the digest of the latest link of an API key",
        "make_sign_in_link",
        "5 minutes",
    ),
    # ---- the governed lifecycle
    RedisKey(
        "op_nonce:<digest>",
        "string",
        "the operation, or the call, that used the nonce of an opToken up; `<digest>` is the SHA-256 of the "
        "key's fingerprint and the nonce",
        "include/authorize",
        "900 s",
    ),
    # ---- the audit chain
    RedisKey(
        "audit_pending",
        "stream",
        "records that are not in the chain yet, appended with the change that they record: at_us, by (JSON: "
        "actor, authority, ...), action, subject, outcome, detail (JSON)",
        "include/audit append_chain",
        "an entry until an API process appends it to the chain, half a second; the first 20,000",
    ),
    RedisKey(
        "audit_lost", "string", "records that came while 20,000 waited", "include/audit append_chain", FOREVER
    ),
    RedisKey(
        "audit_call:<id>", "string", "a call of `record_audit`, which may be repeated", "record_audit", "60 s"
    ),
    RedisKey(
        "audit_chain",
        "stream",
        "the audit chain: record N has the id N-0; record (JSON) and digest",
        "append_chain",
        "the latest 100,000 or so",
    ),
    RedisKey(
        "subscriber:<name>",
        "channel",
        "copies of events for one API process; `epochs` when it has to read the epochs at once",
        "include/flush include/log",
        "not stored",
    ),
    RedisKey(
        "notify:<worker>",
        "channel",
        "cancels for jobs that a worker runs; its heartbeat repeats them",
        "expire include/terminal",
        "not stored",
    ),
)


@lru_cache(maxsize=4096)
def find_key(name: str) -> RedisKey | None:
    """Return the kind of the key with that name (without the prefix), None when there is none."""
    return next((key for key in KEYS if key.matches(name)), None)
