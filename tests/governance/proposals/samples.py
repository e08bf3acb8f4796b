"""A proposal for tests, and signatures that no check has seen."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from governance.proposals.proposal import NewProposal, Signature

NEW = NewProposal(
    operation="model-load",
    body={"modelId": "alpha", "evictModel": "bêta"},
    plan={"modelId": "alpha", "covers": {"the state of alpha": {"state": "not loaded"}}},
    plan_digest="ab" * 32,
    tenant="acme",
    key="key_1",
    by={"actor": "acme", "authority": "governance key", "key": "key_1"},
    threshold=2,
    signers=("alice", "bob", "carol"),
    runner="runner-1",
)


BY = NEW.by


def new(**fields: Any) -> NewProposal:
    return replace(NEW, **fields)


def signature(signer: str, value: str = "c2ln") -> Signature:
    return Signature(signer, f"{signer}-1", value, 1000.5)
