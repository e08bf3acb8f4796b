"""Proposals: changes that begin when enough signers have signed exactly what will be done."""
