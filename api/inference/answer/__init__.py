"""All code between a response's event log and the client's socket."""
