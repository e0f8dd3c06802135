"""Records Kubernetes Events."""
