"""Saves the states of conversations to files, and restores them."""
