"""Kinds that only declare something: they are checked, and say whether they are ready."""
