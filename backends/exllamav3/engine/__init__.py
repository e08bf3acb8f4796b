"""The code of the engine process of `exllamav3`."""
