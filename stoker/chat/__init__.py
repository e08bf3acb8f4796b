"""The chat in the terminal, a client of `/v1/responses`: decisions are apart from input and output."""
