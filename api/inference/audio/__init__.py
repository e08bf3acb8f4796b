"""OpenAI's Audio: transcripts and speech."""
