"""The context that a model's engines use, where its files say what the model was made for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from backends.catalogue import BACKENDS
from backends.parameter_rules import ContextOption
from fleet.estimates import decode_shape
from fleet.model_row import ModelRow, effective_options


@dataclass(frozen=True, slots=True)
class ContextInForce:
    """The context of one request in tokens, or of all together where `rule` says that they share it.

    `requested` is the value of the option, `most` what the model was made for, `tokens` what an engine uses
    of the requested ones, and `reason` why that is less.
    """

    rule: ContextOption
    requested: int
    most: int
    made_for: int
    tokens: int
    reason: str | None = None


def context_in_force(row: ModelRow, override: Mapping[str, Any]) -> ContextInForce | None:
    """The context with this override; None for a model without one, or of which no file was read."""
    backend, model = BACKENDS[row.definition.backend], row.definition
    rule = backend.parameters.context
    found = decode_shape(row.shape) if row.shape else None
    if not isinstance(rule, ContextOption) or found is None or not found[0].context:
        return None
    made_for = found[0].context
    most = made_for * model.target_inflight if rule.shared else made_for
    given = backend.with_defaults(effective_options(model, override)).get(rule.option)
    requested = most if given is None else int(given)
    if not rule.capped or requested <= most:
        return ContextInForce(rule, requested, most, made_for, requested)
    reason = (
        f"{row.name} was made for {made_for} tokens of context, and its engine uses no more: of the"
        f" {requested} of {rule.option}, {requested - most} have no effect"
    )
    return ContextInForce(rule, requested, most, made_for, most, reason)
