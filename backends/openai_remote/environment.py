"""A remote model has no engine process, and needs no libraries."""

ENVIRONMENT = None
