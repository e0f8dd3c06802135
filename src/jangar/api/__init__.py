"""What users write: the types of every kind, their vocabulary, and one table of kinds.

Pydantic models and enums; no I/O, no decisions. Imports nothing else of jangar.
"""
