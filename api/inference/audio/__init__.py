"""OpenAI's Audio: the words of a sound, and speech."""
