"""Does the cost of a request grow with tenants, waiting jobs, replicas, workers, open streams or processes?

`make bench-growth` measures the same calls at several sizes and compares each size with the smallest one.
`ledger` measures the server's CPU time and commands of the real scripts on a server of its own; `platform`
measures a running platform.
"""
