"""Governance: the audit log of administrative changes. Proposals, signers and nonces belong here, too."""
