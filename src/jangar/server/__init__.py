"""The control plane frontend: run submission, live and past runs, and the HTTP API for programs and the web UI.

Imports: controllers (names and pages), lint, kube, settings, telemetry, domain, api. Starlette only below `http/`.
"""
