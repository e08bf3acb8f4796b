"""The objects of batches: OpenAI's (OpenAI API reference, "Batch") and Anthropic's ("Message Batches")."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from api.batches.record import BatchRecord, Progress, state_of
from scheduler.batches import BatchRow


def openai_batch(row: BatchRow) -> dict[str, Any]:
    """A batch of /v1/batches."""
    record, progress = BatchRecord.from_json(row.record), Progress.from_json(row.progress)
    times, counts = progress.times, progress.counts
    cancelling_at = None if row.cancel_us is None else row.cancel_us // 1_000_000
    input_tokens, cached, output_tokens, reasoning = progress.usage
    return {
        "id": row.id,
        "object": "batch",
        "endpoint": record.endpoint,
        "model": None,
        "errors": {"object": "list", "data": progress.errors} if progress.errors else None,
        "input_file_id": record.input_file_id,
        "completion_window": "24h",
        "status": state_of(progress, is_cancelled=cancelling_at is not None),
        "output_file_id": progress.output_file_id,
        "error_file_id": progress.error_file_id,
        "created_at": record.created_at,
        "in_progress_at": times.get("in_progress"),
        "expires_at": record.expires_at,
        "finalizing_at": times.get("finalizing"),
        "completed_at": times.get("completed"),
        "failed_at": times.get("failed"),
        "expired_at": times.get("expired"),
        "cancelling_at": cancelling_at,
        "cancelled_at": times.get("cancelled"),
        "request_counts": {
            "total": progress.total,
            "completed": counts["succeeded"],
            "failed": progress.done - counts["succeeded"],
        },
        "usage": {
            "input_tokens": input_tokens,
            "input_tokens_details": {"cached_tokens": cached},
            "output_tokens": output_tokens,
            "output_tokens_details": {"reasoning_tokens": reasoning},
            "total_tokens": input_tokens + output_tokens,
        },
        "metadata": record.metadata,
    }


def message_batch(row: BatchRow) -> dict[str, Any]:
    """A batch of /v1/messages/batches."""
    record, progress = BatchRecord.from_json(row.record), Progress.from_json(row.progress)
    status = "in_progress" if row.cancel_us is None else "canceling"
    # the counts are zero until all requests have ended
    counts = progress.counts if progress.has_ended else dict.fromkeys(progress.counts, 0)
    ended_at = progress.times.get(progress.state) if progress.has_ended else None
    return {
        "id": row.id,
        "type": "message_batch",
        "processing_status": "ended" if progress.has_ended else status,
        "request_counts": {"processing": 0 if progress.has_ended else record.lines, **counts},
        "created_at": _time(record.created_at),
        "expires_at": _time(record.expires_at),
        "ended_at": _time(ended_at),
        "cancel_initiated_at": _time(None if row.cancel_us is None else row.cancel_us // 1_000_000),
        "archived_at": None,
        "results_url": f"/v1/messages/batches/{row.id}/results" if progress.has_ended else None,
    }


def _time(seconds: int | None) -> str | None:
    """RFC 3339."""
    if seconds is None:
        return None
    return datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z")
