"""The event log of a response: event types, reading, and live delivery to subscribers."""
