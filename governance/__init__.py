"""Governance: opTokens, proposals, the audit chain and the cache namespaces."""
