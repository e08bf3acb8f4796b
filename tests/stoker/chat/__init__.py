"""Tests of the chat in the terminal."""
