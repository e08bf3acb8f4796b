"""The text of documents in requests: read in child processes within limits, and put into the prompt."""
