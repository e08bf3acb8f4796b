"""What can be observed: logging, and process tuning."""
