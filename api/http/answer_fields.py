"""Arguments of the fields of answers: what the OpenAPI document has of them."""

from __future__ import annotations

from typing import Any


def described(description: str, **more: object) -> dict[str, Any]:
    """The `metadata` of a field: its description, and more of its JSON Schema."""
    return {"description": description, **more}


def required(description: str) -> dict[str, Any]:
    """The arguments of a field that each answer has."""
    return {"required": True, "metadata": described(description)}


def nullable(description: str) -> dict[str, Any]:
    """The arguments of a field that each answer has, and that may be null."""
    return {**required(description), "allow_none": True}
