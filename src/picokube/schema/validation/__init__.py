"""Validation of values against a schema, without CEL rules."""
