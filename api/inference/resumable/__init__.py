"""Answers whose bytes can be read again: by conversation id, from any byte, on any API process."""
