"""Our own durable facts, in SQLite or PostgreSQL: what became of runs and their steps. Knows no Kubernetes client."""
