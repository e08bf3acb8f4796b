"""Which signed approvals change something: opTokens, proposals, the audit chain and receipts over HTTP."""
