"""A Kubernetes API server on SQLite, compatible with kubectl, Helm and controllers.

It knows the Kubernetes API and nothing of the product. The layers of its packages are an import contract in
pyproject.toml.
"""
