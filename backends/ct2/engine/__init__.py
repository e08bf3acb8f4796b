"""The code of the engine process of `ct2`."""
