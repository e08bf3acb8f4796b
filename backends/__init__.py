"""One adapter per backend. `registry` finds them by name and imports them late."""
