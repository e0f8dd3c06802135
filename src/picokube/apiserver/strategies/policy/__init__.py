"""Kinds that are validated and stored; nothing acts on them."""
