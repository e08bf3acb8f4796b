"""The configuration: typed settings, their sources and validation, tenants and API keys."""
