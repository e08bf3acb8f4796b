"""The tools that work on the files of a tenant, each call in a child process within limits."""
