"""Whisper: models that write down what is said, with faster-whisper."""
