"""Webhooks: events about ended background responses, sent to targets that operators configure."""
