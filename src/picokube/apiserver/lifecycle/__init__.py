"""Controllers inside the server: garbage collection, namespaces, definitions, roles, claims, events."""
