"""The sentences for prompts that ComfyUI refuses, and for those that fail while they run.

Its own messages quote the request, paths of the host and lines of code, so none of them is passed on.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from backends.base import GenerationError
from telemetry.text import printable

MAX_NAME = 64
MAX_ERRORS = 3

REASONS: Mapping[str, str] = {
    "required_input_missing": "is missing",
    "bad_linked_input": "is not a link to an output of a node",
    "return_type_mismatch": "is linked to an output of another type",
    "invalid_input_type": "has a value of another type",
    "value_smaller_than_min": "is too small",
    "value_bigger_than_max": "is too large",
    "value_not_in_list": "is none of the values that the node takes",
    "custom_validation_failed": "is not accepted by the node",
}
"""What the types of validation errors mean (execution.py, validate_inputs)."""

OUT_OF_MEMORY = re.compile(
    r"out of memory|OutOfMemory|Allocation on device|can't allocate memory|\bMemoryError\b", re.IGNORECASE
)
"""The messages of PyTorch, ComfyUI and Python."""


def refused_prompt(answer: Any) -> GenerationError:
    """The error for an answer of POST /prompt with status 400: which node and input it names, and why."""
    found = list(_node_errors(answer))[:MAX_ERRORS]
    error = answer.get("error") if isinstance(answer, dict) else None
    kind = error.get("type") if isinstance(error, dict) else None
    if found:
        sentence = "; ".join(found)
    elif kind == "prompt_no_outputs":
        sentence = "the workflow has no node that saves a picture"
    elif kind in ("invalid_prompt", "missing_node_type"):
        sentence = "the workflow has a node that this ComfyUI does not have"
    else:
        sentence = "ComfyUI does not accept this workflow"
    return GenerationError("invalid_prompt", sentence)


def _node_errors(answer: Any) -> list[str]:
    nodes = answer.get("node_errors") if isinstance(answer, dict) else None
    found = []
    for node, content in nodes.items() if isinstance(nodes, dict) else ():
        errors = content.get("errors") if isinstance(content, dict) else None
        place = (
            f"node {_name(node)} ({_name(content.get('class_type'))})" if isinstance(content, dict) else ""
        )
        for error in errors if isinstance(errors, list) else ():
            extra = error.get("extra_info") if isinstance(error, dict) else None
            name = extra.get("input_name") if isinstance(extra, dict) else None
            reason = REASONS.get(error.get("type"), "is not accepted") if isinstance(error, dict) else ""
            found.append(f"{place}: input {_name(name)} {reason}" if name else f"{place} is not accepted")
    return found


def failed_prompt(event: Any) -> GenerationError:
    """The error for the event `execution_error`."""
    data = event if isinstance(event, dict) else {}
    place = f"node {_name(data.get('node_id'))} ({_name(data.get('node_type'))})"
    if OUT_OF_MEMORY.search(f"{data.get('exception_type')} {data.get('exception_message')}"):
        sentence = f"out of memory in {place}: ask for a smaller size or fewer pictures"
        return GenerationError("engine_error", sentence)
    return GenerationError("engine_error", f"{place} failed: {_name(data.get('exception_type'))}")


def _name(value: Any) -> str:
    text = printable(str(value))
    return text if len(text) <= MAX_NAME else f"{text[:MAX_NAME]}..."
