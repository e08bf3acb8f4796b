"""llama-server's own routes (tools/server/README.md of llama.cpp), for its clients and its web UI."""
