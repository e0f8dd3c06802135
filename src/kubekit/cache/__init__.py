"""Objects watched from a Kubernetes API: informers, caches and indexes."""
