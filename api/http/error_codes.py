"""The error codes that several routes share. The OpenAPI document lists them for each route."""

from __future__ import annotations

STORAGE = ("storage_unavailable", "storage_full")

GENERATION = (
    "model_not_allowed",
    "unsupported_parameter",
    "unsupported_tool",
    "unsupported_input",
    "thinking_unsupported",
    "unknown_lora",
    "image_unsupported",
    "audio_unsupported",
    "invalid_audio",
    "audio_too_long",
    "document_unreadable",
    "document_too_large",
    "too_many_documents",
    "too_many_webhooks",
    "multi_turn_unsupported",
    "generation_unsupported",
    "invalid_prompt",
    "context_length_exceeded",
    "remote_not_allowed",
    "unknown_model",
    "model_not_loaded",
    "model_loading",
    "model_unloading",
    "model_failed",
    "idempotency_key_reused",
    "cancelled",
    "rate_limit_exceeded",
    "budget_exceeded",
    "tenant_storage_full",
    "queue_full",
    "queue_timeout",
    "server_busy",
    "too_many_streams",
    "worker_lost",
    "worker_shutdown",
    "unload_deadline",
    "engine_error",
    "remote_rate_limited",
    "remote_unavailable",
    "output_too_large",
    "engine_crashed",
    "engine_stalled",
    "deadline_exceeded",
    "stream_lost",
    "log_lost",
    *STORAGE,
)
"""The error codes of requests that generate: from admission, the queue and the engine."""

TOKEN_COUNT = ("token_count_unsupported", *GENERATION)
"""The error codes of requests whose tokens are counted."""

IN_CONVERSATION = (
    "not_found",
    "request_too_large",
    "conversation_locked",
    "conversation_quota_exceeded",
)
"""The further error codes of requests that may belong to a conversation."""

EMBEDDING = ("embeddings_unsupported", *GENERATION)
"""The error codes of requests for vectors."""

AUDIO = (
    "wrong_endpoint",
    "unsupported_media_type",
    "request_too_large",
    "file_quota_exceeded",
    "too_many_uploads",
    *GENERATION,
)
"""The error codes of requests with a recording."""

SPEECH = ("wrong_endpoint", "unknown_voice", "file_quota_exceeded", *GENERATION)
"""The error codes of requests for speech."""

IMAGES = ("wrong_endpoint", "request_too_large", "file_quota_exceeded", *GENERATION)
"""The error codes of requests for images."""

WORKFLOWS = ("workflows_not_allowed", "invalid_workflow", "unsupported_input", "not_found", *IMAGES)
"""The error codes of workflows of requests."""

RERANK = ("rerank_unsupported", *GENERATION)
"""The error codes of requests for scores."""
