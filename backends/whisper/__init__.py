"""Whisper: models that transcribe speech, with faster-whisper."""
