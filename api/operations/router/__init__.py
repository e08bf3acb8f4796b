"""The routes of llama-server's router: models that clients see, load, add and remove."""
