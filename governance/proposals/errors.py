"""The errors of proposals that a client may see."""

from __future__ import annotations

from store.errors import Rejected


class SignatureRefused(Rejected):
    """Raised when a signature does not count; the message has the precise reason."""

    default_code = "signature_refused"


class ProposalEnded(Rejected):
    """Raised when a proposal has ended and cannot be signed or withdrawn any more."""

    default_code = "proposal_ended"


class UnknownProposal(Rejected):
    """Raised when there is no proposal of that id, or it is kept no longer."""

    default_code = "not_found"


class TooManyProposals(Rejected):
    """Raised when a tenant, or all together, have as many open proposals as they may."""

    default_code = "too_many_proposals"
