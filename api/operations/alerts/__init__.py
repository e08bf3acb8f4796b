"""Alerts: rules about the platform's state, and acknowledgements (docs/decisions/0058-alerts.md)."""
