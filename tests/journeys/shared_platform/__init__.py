"""Journeys on one platform, which leave it as they found it."""
