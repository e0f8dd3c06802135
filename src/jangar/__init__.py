"""Jangar: runs AI agents and orchestrations of them, on a laptop and on Kubernetes, from the same manifests."""

__version__ = "0.1.0"
