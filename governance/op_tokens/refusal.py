"""Why an opToken is refused.

An answer names the faults that are visible in the token and the request; the audit record has every reason.
Reasons that would help a forger are in the audit alone.
"""

from __future__ import annotations

REASONS = {
    "malformed": "it is not an opToken in one of the wire forms, or a field is missing, unknown or invalid",
    "unknown_key": "it names a key that the platform does not have, or that is not valid now",
    "wrong_signature": "the HMAC, or a signer's signature, does not match what is signed",
    "wrong_mode": "the rule of the operation requires the other mode",
    "too_old": "it was issued more than 300 s ago, or has expired",
    "too_new": "it is dated more than 300 s ahead",
    "wrong_operation": "it is for another operation",
    "wrong_model": "it is for another model",
    "wrong_scope": "it is for another scope, tenant or tag of a flush",
    "wrong_body": "it is for another request body, or has no bodyHash in the mode signed",
    "wrong_runner": "it is for another platform",
    "unknown_signer": "a signer is not in the rule, or is unknown",
    "revoked_signer": "a signer is revoked",
    "repeated_signer": "a signer is named twice, names that differ by case included",
    "too_few_signers": "fewer signers than the threshold",
}
"""Each reason with its meaning. A used nonce is found later, by the script that begins the operation."""

VISIBLE = frozenset(
    {
        *("malformed", "too_old", "too_new", "wrong_operation", "wrong_model", "wrong_scope"),
        *("wrong_body", "wrong_runner"),
    }
)
"""The reasons that answers name: they follow from the request alone, without keys, rules and signers."""


class Refused(Exception):
    """Raised for an opToken that does not authorise the operation.

    `reason` is one of REASONS. `detail` says more: it has names of fields and signers, but no other text of
    the token.
    """

    def __init__(self, reason: str, detail: str = "") -> None:
        """Take the reason and its detail."""
        self.reason, self.detail = reason, detail
        super().__init__(f"{reason}: {detail or REASONS[reason]}")

    @property
    def visible(self) -> str:
        """The reason in the answer; "" for one that only the audit has."""
        return (self.detail or REASONS[self.reason]) if self.reason in VISIBLE else ""
