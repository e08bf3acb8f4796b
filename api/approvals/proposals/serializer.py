"""Makes the JSON object of a proposal."""

from __future__ import annotations

from typing import Any

from flask import Response

from api.http.http_responses import json_response
from governance.proposals.proposal import Proposal


def serialize_proposal(proposal: Proposal) -> dict[str, Any]:
    """A proposal with all that its signers have to see, and the text that they sign."""
    return {
        "id": proposal.id,
        "object": "proposal",
        "status": str(proposal.status),
        "operation": proposal.operation,
        "body": dict(proposal.body),
        "plan": dict(proposal.plan),
        "body_digest": proposal.body_digest,
        "plan_digest": proposal.plan_digest,
        "runner_id": proposal.runner,
        "proposer": {
            "actor": proposal.by["actor"],
            "person": proposal.by.get("person"),
            "tenant": proposal.tenant,
            "key": proposal.key or None,
        },
        "threshold": proposal.threshold,
        "signers": list(proposal.signers),
        "signatures": [
            {"signer": one.signer, "kid": one.key, "signature": one.value, "at": one.at}
            for one in proposal.signatures
        ],
        "missing": proposal.missing,
        "created_at": proposal.created_at,
        "expires_at": proposal.expires_at,
        "approved_at": proposal.approved_at,
        "ended_at": proposal.ended_at,
        "operation_id": proposal.operation_id,
        "reason": proposal.reason,
        "payload": proposal.payload.decode(),
    }


def proposed_response(proposal: Proposal) -> Response:
    """The answer to a request that made a proposal."""
    headers = {"Location": f"/v1/governance/proposals/{proposal.id}"}
    return json_response(serialize_proposal(proposal), 202, headers)
