"""Validation of the schema of a CustomResourceDefinition."""
