"""What is set, and from where: typed settings, the model catalogue, tenants, Redis connections, logging."""
