"""The `service_tier` of a request: a priority under the names of OpenAI's and Anthropic's APIs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

OPENAI_TIERS: Mapping[str, str | None] = {
    "auto": None,
    "default": "normal",
    "scale": "normal",
    "flex": "low",
    "priority": "high",
    "fast": "high",
    "ultrafast": "high",
}
"""The priority that each tier of OpenAI's asks for; None and other tiers leave it to the request's header."""

ANTHROPIC_TIERS: Mapping[str, str | None] = {"auto": None, "standard_only": "normal"}
"""The same for Anthropic's."""

_OPENAI_NAMES: Mapping[str, str] = {"high": "priority", "normal": "default", "low": "flex"}
_ANTHROPIC_NAMES: Mapping[str, str] = {"high": "priority", "normal": "standard", "low": "standard"}


@dataclass(frozen=True, slots=True)
class ServiceTier:
    """The tier that a request asks for.

    `priority` is None where the tier names none; `names` are the tiers by the priority that a request gets,
    as the answer repeats them.
    """

    priority: str | None
    names: Mapping[str, str]


def openai_tier(body: Mapping[str, Any]) -> ServiceTier | None:
    """The tier of a body of one of OpenAI's APIs, None if it has none."""
    asked = body.get("service_tier")
    return None if asked is None else ServiceTier(OPENAI_TIERS.get(asked), _OPENAI_NAMES)


def anthropic_tier(body: Mapping[str, Any]) -> ServiceTier | None:
    """The tier of a body of Anthropic's API, None if it has none."""
    asked = body.get("service_tier")
    return None if asked is None else ServiceTier(ANTHROPIC_TIERS.get(asked), _ANTHROPIC_NAMES)
