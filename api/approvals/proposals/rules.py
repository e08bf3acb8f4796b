"""Whether an operation can be proposed: by the rule that the configuration has for it."""

from __future__ import annotations

from api.http.errors import Forbidden
from config.settings import SIGNED, GovernanceRule, Settings
from governance.proposals.signatures import signers_of


def rule_for_proposals(settings: Settings, operation: str) -> GovernanceRule:
    """The rule of an operation. Raises `Forbidden` if no proposal of it could be approved; says what is
    missing."""
    governance = settings.governance
    rule = governance.rules[operation]
    if rule.mode != SIGNED:
        raise Forbidden(
            f"proposals of {operation} are not possible: its rule has the mode `{rule.mode}`, in which an"
            f' opToken approves it; set governance.{operation} to {{"mode": "signed"}}, and add its signers',
            code="governance_not_configured",
            param="operation",
        )
    able = signers_of(rule, governance.signers)
    if len(able) < rule.threshold:
        raise Forbidden(
            f"proposals of {operation} are not possible: its threshold is {rule.threshold}, and {len(able)}"
            " of governance.signers may sign; `stoker op keygen` makes the key of a signer",
            code="governance_not_configured",
            param="operation",
        )
    return rule


def any_proposals(settings: Settings) -> bool:
    """Whether any operation can be proposed."""
    governance = settings.governance
    return any(
        rule.mode == SIGNED and len(signers_of(rule, governance.signers)) >= rule.threshold
        for rule in governance.rules.values()
    )
