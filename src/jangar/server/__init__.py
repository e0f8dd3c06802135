"""The control plane's own face: one way in, runs as they are and were, and HTTP for programs and for the web page.

Imports: controllers (names and pages), lint, kube, settings, telemetry, domain, api. Starlette only below `http/`.
"""
