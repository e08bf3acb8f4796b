"""How a socket's bytes become a request, and an answer becomes bytes."""
