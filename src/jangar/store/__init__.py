"""The history in SQLite or PostgreSQL: finished runs and steps, Events, the audit log and idempotency keys."""
