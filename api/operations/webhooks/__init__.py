"""Webhook targets as operators see them: whether each receives its events, and a test event."""
