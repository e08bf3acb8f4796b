"""Why an engine would refuse the options of a load, as far as they or the model's files show it before."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from backends.catalogue import BACKENDS
from fleet.context_in_force import context_in_force
from fleet.estimates import decode_shape
from fleet.model_row import ModelRow, effective_options


@dataclass(frozen=True, slots=True)
class OptionFault:
    """Why the load would fail, in one sentence, and the option whose value in a load decides it, if any."""

    option: str | None
    message: str


def option_fault(row: ModelRow, override: Mapping[str, Any]) -> OptionFault | None:
    """The fault of the model's options with this override; None if neither they nor its files show one."""
    return _contradiction(row, override) or _context_fault(row, override) or _prediction_fault(row, override)


def _contradiction(row: ModelRow, override: Mapping[str, Any]) -> OptionFault | None:
    """Options in force that contradict each other."""
    backend = BACKENDS[row.definition.backend]
    for names, problem in backend.contradicting(effective_options(row.definition, override)):
        settable = next((name for name in names if name in backend.load_fields), None)
        return OptionFault(settable, f"{names[0]} {problem}")
    return None


def _context_fault(row: ModelRow, override: Mapping[str, Any]) -> OptionFault | None:
    """A context beyond the model's, for an engine that does not start with it."""
    context = context_in_force(row, override)
    if context is None or not context.rule.bounded or context.requested <= context.most:
        return None
    found = decode_shape(row.shape)
    if found is not None and found[0].stretches:
        return None
    option, stretched_by = context.rule.option, context.rule.stretched_by
    if stretched_by is not None and effective_options(row.definition, override).get(stretched_by):
        return None
    return OptionFault(
        option,
        f"{row.name} was made for {context.made_for} tokens of context, and its engine does not start with"
        f" the {context.requested} of {option}: set it to {context.most} at most",
    )


def _prediction_fault(row: ModelRow, override: Mapping[str, Any]) -> OptionFault | None:
    """A prediction of several tokens by layers that the model does not have."""
    backend = BACKENDS[row.definition.backend]
    rule, found = backend.own_prediction, decode_shape(row.shape) if row.shape else None
    if rule is None or found is None or found[0].prediction_layers != 0:
        return None
    options = backend.with_defaults(effective_options(row.definition, override))
    if options.get(rule.option) != rule.value or options.get(rule.draft_option):
        return None
    return OptionFault(
        rule.option,
        f"{row.name} has no layers that predict several tokens, which {rule.value} needs: set {rule.option}"
        f" to null, or {rule.draft_option} to a draft model",
    )
