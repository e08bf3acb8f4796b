"""Which tools may a client call: the built-in ones, on files of its tenant, and those of MCP servers."""
