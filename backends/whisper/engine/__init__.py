"""The code of the engine process of `whisper`."""
