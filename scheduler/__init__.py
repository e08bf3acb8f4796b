"""Queues jobs and dispatches them to replicas. Redis and Lua only: no HTTP, no Celery."""
