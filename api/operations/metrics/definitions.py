"""The metrics of the platform: name, type, labels and meaning. docs/metrics.md has the same table."""

from __future__ import annotations

from typing import NamedTuple


class Metric(NamedTuple):
    """A metric's name (a counter's with `_total`), type, labels, and one sentence on it."""

    name: str
    type: str
    labels: tuple[str, ...]
    about: str


METRICS = (
    Metric(
        "stoker_up",
        "gauge",
        (),
        "1 when Redis could be read, else 0: then all but the process's own is missing",
    ),
    # the names of the Model Runner API
    Metric(
        "vllm_requests_total",
        "counter",
        ("model", "tenant", "status"),
        "Ended requests: success, error (failed) or cancelled",
    ),
    Metric(
        "vllm_cache_hit_rate",
        "gauge",
        ("model",),
        "Share of the prompt tokens that came from a prefix cache, over about the last 5 minutes of requests",
    ),
    Metric("vllm_queue_depth", "gauge", (), "Waiting requests of all models"),
    Metric(
        "vllm_gpu_memory_used", "gauge", ("gpu",), "Memory of a GPU in use by all its processes, in bytes"
    ),
    Metric("vllm_inference_duration_seconds", "histogram", ("model",), "Time that a request held its slot"),
    # requests
    Metric("stoker_queue_depth", "gauge", ("model",), "Waiting requests"),
    Metric("stoker_running_requests", "gauge", ("model",), "Requests that run"),
    Metric(
        "stoker_queue_wait_seconds", "histogram", ("model", "priority"), "Time that an ended request waited"
    ),
    Metric(
        "stoker_time_to_first_output_seconds",
        "histogram",
        ("model",),
        "Time from the admission to the first output",
    ),
    Metric(
        "stoker_time_per_output_token_seconds",
        "histogram",
        ("model",),
        "Time per token after the first output, on average of a request",
    ),
    Metric(
        "stoker_tokens_total",
        "counter",
        ("model", "tenant", "kind"),
        "Tokens of ended requests: input, cached (a part of input) or output",
    ),
    Metric(
        "stoker_processed_tokens_total",
        "counter",
        ("model", "tenant", "kind"),
        "Tokens that engines have processed, of running requests, too: input (computed of prompts) or output",
    ),
    Metric(
        "stoker_replica_prompt_tokens_total",
        "counter",
        ("model", "replica", "kind"),
        "Prompt tokens of the ended requests of a replica that is up: input, or cached (a part of input)",
    ),
    Metric(
        "stoker_audio_seconds_total",
        "counter",
        ("model", "tenant"),
        "Seconds of audio that ended requests have transcribed or made",
    ),
    Metric(
        "stoker_audio_real_time_factor",
        "gauge",
        ("model",),
        "Time in slots for each second of audio, of all requests so far: below 1 is faster than real time",
    ),
    Metric("stoker_images_total", "counter", ("model", "tenant"), "Images that ended requests have made"),
    Metric(
        "stoker_pixel_steps_total",
        "counter",
        ("model", "tenant"),
        "Computed pixels of images: width x height x steps",
    ),
    Metric(
        "stoker_request_failures_total",
        "counter",
        ("model", "code"),
        "Requests that were admitted and failed or were cancelled, by error code",
    ),
    Metric(
        "stoker_request_retries_total",
        "counter",
        ("model",),
        "Requests that were queued again because their engine or worker was lost",
    ),
    Metric(
        "stoker_refusals_total",
        "counter",
        ("code",),
        "Requests that the API answered with an error of its own",
    ),
    Metric(
        "stoker_tenant_refusals_total",
        "counter",
        ("tenant", "code"),
        "Answers with 429 or 503 to requests of a tenant",
    ),
    Metric(
        "stoker_tenant_budget_used_ratio",
        "gauge",
        ("tenant", "unit"),
        "Used share of a tenant's budget of the month, by unit: tokens or gpu_s",
    ),
    Metric(
        "stoker_tenant_budget_soft_ratio",
        "gauge",
        ("tenant", "unit"),
        "Share of the budget from which an alert fires, for those that have one",
    ),
    # batches
    Metric("stoker_batches", "gauge", ("state",), "Batches that have not ended"),
    Metric("stoker_batch_lines_open", "gauge", (), "Lines of running batches that have no result yet"),
    Metric("stoker_batches_ended_total", "counter", ("kind", "state"), "Batches that have ended"),
    Metric("stoker_batch_lines_total", "counter", ("kind", "outcome"), "Lines of batches with a result"),
    Metric("stoker_uncounted_requests", "gauge", (), "Ended requests that wait to be counted"),
    # models and memory
    Metric("stoker_model_replicas", "gauge", ("model",), "Replicas that accept requests"),
    Metric("stoker_model_failed", "gauge", ("model",), "1 when the model has failed, else 0"),
    Metric(
        "stoker_model_memory_bytes",
        "gauge",
        ("model", "part"),
        "Memory of a model's engines that report their KV cache: kv_cache, or weights (and all else)",
    ),
    Metric(
        "stoker_kv_cache_usage_ratio", "gauge", ("model",), "Share of the KV cache in use, where it is known"
    ),
    Metric("stoker_gpu_memory_bytes", "gauge", ("gpu",), "Memory of a GPU"),
    Metric(
        "stoker_operations_total",
        "counter",
        ("kind", "model", "status"),
        "Loads, unloads and flushes that have ended",
    ),
    Metric(
        "stoker_operation_duration_seconds",
        "summary",
        ("kind", "model"),
        "Duration of completed loads and unloads",
    ),
    Metric("stoker_engine_crashes_total", "counter", ("model",), "Engines that ended without being asked to"),
    Metric(
        "stoker_engine_restarts_total", "counter", ("model",), "Starts of crashed engines by the platform"
    ),
    # scheduler
    Metric("stoker_workers", "gauge", (), "Registered workers"),
    Metric(
        "stoker_expired_total",
        "counter",
        ("what",),
        "What the reaper ended: lease, deadline (of requests), worker or load",
    ),
    Metric(
        "stoker_lease_extensions_total",
        "counter",
        (),
        "How often all leases were extended after a pause of Redis",
    ),
    Metric(
        "stoker_fenced_calls_total",
        "counter",
        ("call",),
        "Calls of former workers that were refused: step (for each request) or heartbeat",
    ),
    # API processes
    Metric("stoker_api_processes", "gauge", (), "API processes that reported within 5 seconds"),
    Metric("stoker_api_connections", "gauge", (), "Open connections of all API processes"),
    Metric("stoker_api_streams", "gauge", (), "Requests that wait in all API processes: streams and others"),
    Metric("stoker_api_loop_lag_seconds", "gauge", (), "Longest delay of an API process's event loop"),
    # webhooks
    Metric(
        "stoker_webhook_deliveries_total",
        "counter",
        ("target", "outcome"),
        "Attempts to send an event to a webhook target: delivered, failed, given_up (the last one); "
        "left_out: events that were not entered",
    ),
    Metric("stoker_webhook_waiting_events", "gauge", ("target",), "Events that wait for a webhook target"),
    Metric(
        "stoker_webhook_failing",
        "gauge",
        ("target",),
        "1 when the latest attempt to send to a webhook target has failed, else 0",
    ),
)
