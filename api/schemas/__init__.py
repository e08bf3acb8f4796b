"""The bodies of the API: marshmallow schemas, which OpenAPI shows and the intake holds a request to."""
