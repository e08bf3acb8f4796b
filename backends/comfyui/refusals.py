"""The sentences for prompts that ComfyUI refuses, and for those that fail while they run.

Its own messages quote the request, paths of the host and lines of code, so none of them is passed on.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import islice
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
    "value_not_in_list": "is not among the values that the node takes",
    "custom_validation_failed": "is not accepted by the node",
}
"""What the types of validation errors mean (execution.py, validate_inputs)."""

OUT_OF_MEMORY = re.compile(
    r"out of memory|OutOfMemory|Allocation on device|can't allocate memory|\bMemoryError\b", re.IGNORECASE
)
"""The messages of PyTorch, ComfyUI and Python."""


def refused_prompt(answer: Any) -> GenerationError:
    """The error for an answer of POST /prompt with status 400: which node and input it names, and why."""
    found = list(islice(_node_errors(answer), MAX_ERRORS))
    kind = _object(_object(answer).get("error")).get("type")
    if found:
        sentence = "; ".join(found)
    elif kind == "prompt_no_outputs":
        sentence = "the workflow has no node that saves an image"
    elif kind in ("invalid_prompt", "missing_node_type"):
        sentence = "the workflow has a node that this ComfyUI does not have"
    else:
        sentence = "ComfyUI does not accept this workflow"
    return GenerationError("invalid_prompt", sentence)


def _node_errors(answer: Any) -> Iterator[str]:
    nodes = _object(_object(answer).get("node_errors"))
    for node, content in nodes.items():
        place = f"node {_name(node)} ({_name(_object(content).get('class_type'))})"
        errors = _object(content).get("errors")
        for error in errors if isinstance(errors, list) else ():
            name = _object(_object(error).get("extra_info")).get("input_name")
            reason = REASONS.get(str(_object(error).get("type")), "is not accepted")
            yield f"{place}: input {_name(name)} {reason}" if name else f"{place} is not accepted"


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def failed_prompt(event: Any) -> GenerationError:
    """The error for the event `execution_error`."""
    data = _object(event)
    place = f"node {_name(data.get('node_id'))} ({_name(data.get('node_type'))})"
    if OUT_OF_MEMORY.search(f"{data.get('exception_type')} {data.get('exception_message')}"):
        sentence = f"out of memory in {place}: ask for a smaller size or fewer images"
        return GenerationError("engine_error", sentence)
    return GenerationError("engine_error", f"{place} failed: {_name(data.get('exception_type'))}")


def _name(value: Any) -> str:
    text = printable(str(value))
    return text if len(text) <= MAX_NAME else f"{text[:MAX_NAME]}..."
