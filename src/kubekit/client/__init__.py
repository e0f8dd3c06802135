"""Client of any Kubernetes API: transports, credentials, errors and resources."""
