"""What the requests of Claude Code have in common: beta versions, the marks of cached parts, a tool."""

from __future__ import annotations

from typing import Any

CACHED = {"type": "ephemeral", "ttl": "1h"}
BETAS = ["claude-code-20250219", "interleaved-thinking-2025-05-14", "context-management-2025-06-27"]
READ_TOOL: dict[str, Any] = {
    "name": "Read",
    "description": "Reads a file.",
    "input_schema": {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {"file_path": {"type": "string"}, "limit": {"type": "number"}},
        "required": ["file_path"],
        "additionalProperties": False,
    },
    "eager_input_streaming": True,
}
FIELDS: dict[str, Any] = {
    "metadata": {"user_id": "user_1_session_1"},
    "context_management": {"edits": [{"type": "clear_thinking_20251015", "keep": "all"}]},
    "service_tier": "auto",
    "betas": BETAS,
}
"""The fields of each turn that depend on nothing."""
