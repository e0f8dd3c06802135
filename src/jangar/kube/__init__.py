"""Any Kubernetes API: a thin asynchronous client, informers and queues. Knows nothing of the product."""
