"""Whose turn is it, and on which replica? Redis and Lua only; no HTTP, no Celery."""
