"""Client, cache, controllers and leases for any Kubernetes API, shared by picokube and jangar."""
