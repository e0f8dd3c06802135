"""Leader election and shards over coordination.k8s.io Leases."""
