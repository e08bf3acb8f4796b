"""`stub` needs the standard library only."""

ENVIRONMENT = None
