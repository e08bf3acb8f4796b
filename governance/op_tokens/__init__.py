"""opTokens: approvals of one operation, which the shared key or the keys of signers authenticate.

Pure: bytes, keys and a time go in, a `VerifiedOpToken` or a `Refused` comes out. docs/governance.md has the
wire forms and test vectors.
"""
