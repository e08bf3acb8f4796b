"""How do we send an HTTP request? One asynchronous client for HTTP/1.1: pool, framing, TLS, proxies."""
