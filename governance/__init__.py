"""Who may change what, and who did: the audit chain. Operation tokens, signers and nonces belong here too."""
