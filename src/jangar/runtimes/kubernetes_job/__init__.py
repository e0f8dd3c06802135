"""Work as a Kubernetes Job: on a cluster in a container, on a laptop as a process of the node agent."""
