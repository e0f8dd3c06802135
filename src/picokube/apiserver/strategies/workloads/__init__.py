"""Kinds that create pods."""
