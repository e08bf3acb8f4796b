"""What may be asked of a GPU: the Celery app, the wire, the task bodies."""
