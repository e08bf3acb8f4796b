"""Queues jobs and dispatches them to replicas. Redis and Lua only: no HTTP, no Celery."""

from pathlib import Path

LUA = Path(__file__).parent / "lua"
