"""Reads manifests and finds every mistake in them. Prints nothing and talks to no server.

Imports: jangar.crdgen, picokube.schema, jangar.domain, jangar.api.
"""
