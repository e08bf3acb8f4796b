"""Celery: the app, the tasks, their messages, and the request form that travels from the API to an engine."""
