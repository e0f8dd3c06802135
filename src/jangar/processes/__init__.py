"""Composition roots: only here parts are wired, clocks read and files opened."""
