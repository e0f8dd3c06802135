"""A Kubernetes API server on SQLite, true enough that kubectl and controllers cannot tell.

Knows Kubernetes' API and nothing of this product. Imports: picokube.schema only.
"""
