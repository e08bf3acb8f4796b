"""The bodies of the API: marshmallow schemas, which document responses and validate requests."""
