"""The code of the engine process of `sherpa`."""
