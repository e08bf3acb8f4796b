"""`openai_remote` starts no engine process and needs no libraries."""

ENVIRONMENT = None
