"""Views of a run, shared by the CLI, HTTP, gRPC and the web page.

Imports: jangar.api, jangar.domain.
"""
