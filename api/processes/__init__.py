"""The processes that serve the API: each is a fork that accepts connections of the shared port."""
