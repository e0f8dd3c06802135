"""HTTP servers with bounded connections, and their health endpoints."""
