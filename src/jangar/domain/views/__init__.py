"""Projections of a run that every face shows: the CLI, HTTP, gRPC and the web page cannot disagree.

Imports: jangar.api, jangar.domain.
"""
