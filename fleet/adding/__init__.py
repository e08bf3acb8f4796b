"""Decides how a model is added: where its files are, which of them are loaded, and with what."""
