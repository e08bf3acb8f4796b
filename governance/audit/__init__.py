"""The audit chain: numbered records, each with the SHA-256 digest of the one before, in a file and in Redis.

`governance/lua/include/audit.lua` appends what a script changed to the stream `audit_pending`, in the same
call. `AuditLog.sync` gives the pending records their numbers and digests, writes them to the file of this
host, and then to the stream `audit_chain`.
"""

from governance.audit.event import AuditEvent
from governance.audit.log import AuditLog

__all__ = ["AUDIT_FOLDER", "AuditEvent", "AuditLog"]

AUDIT_FOLDER = "audit"
"""The folder of the chain's files in the data folder."""
