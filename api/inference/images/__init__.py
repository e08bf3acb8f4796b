"""OpenAI's Images: images from a text, and changes of images."""
