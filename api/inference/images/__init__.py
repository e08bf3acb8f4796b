"""OpenAI's Images: pictures after a text, and changes of pictures."""
