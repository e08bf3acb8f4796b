"""The engine process of ct2."""
