"""Conversations: the items of several responses in one place (docs/decisions/0021-conversations.md)."""
