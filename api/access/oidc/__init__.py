"""Sign-in of people by an OpenID Connect provider (docs/decisions/0061)."""
