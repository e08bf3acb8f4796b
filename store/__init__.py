"""How Stoker talks to Redis: connections, scripts, subscription and keys; and the platform's error tree."""
