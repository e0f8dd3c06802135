"""What a person or a program can do with runs and objects: typed functions that the CLI and the HTTP API call.

An operation takes a `Caller` and a typed request, and returns a typed result or raises `Refused`. Validation,
idempotency, audit rows and error kinds are defined here; callers format results and map errors to exit codes or
HTTP statuses.
"""
