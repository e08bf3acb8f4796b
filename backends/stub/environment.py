"""The stub's engine needs the standard library only."""

ENVIRONMENT = None
