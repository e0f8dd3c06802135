"""The API types: models of every kind, enums and the table of kinds.

Pydantic models and enums without I/O or logic. Imports nothing else from jangar.
"""
