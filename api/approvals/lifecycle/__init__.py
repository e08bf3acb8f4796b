"""The governed lifecycle: loads, unloads and flushes of caches that an opToken or a proposal authorises."""
