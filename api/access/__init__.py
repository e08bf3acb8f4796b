"""Authentication and authorization: API keys, tenants, access rules."""
