"""Authentication, authorization, RBAC, tokens and certificates."""
