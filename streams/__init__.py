"""What has been said so far: one append-only event log per response; read, wait, resume, expire."""
